import { describe, expect, it } from '@jest/globals';
import {
  allChecks,
  campaign,
  codes,
  messages,
  NOW,
  withContent,
  withDomain,
} from '#testing/fixtures/campaign-facts';
import { analyseCampaign } from './campaign-checks.js';
import type { CampaignFacts, DestinationFacts } from './campaign-facts.js';
import { CRITICAL_WEIGHTS, INFORMATION_WEIGHTS, summarise, WARNING_WEIGHTS } from './pre-send-check.js';

const CODES = [
  ...Object.keys(CRITICAL_WEIGHTS),
  ...Object.keys(WARNING_WEIGHTS),
  ...Object.keys(INFORMATION_WEIGHTS),
];

describe('the critical checks', () => {
  it('pass for a campaign in order, with full marks', () => {
    expect(summarise(allChecks(campaign()))).toMatchObject({ score: 100, status: 'PASSED' });
    expect(codes(campaign({ variantFaults: [] }), 'PASS').toSorted()).toEqual(CODES.toSorted());
  });

  it.each<[string, CampaignFacts]>([
    ['topic: The campaign has no topic: set topicIds.', campaign({ topics: [] })],
    ['topic: Not active: Old.', campaign({ topics: [{ name: 'Old', status: 'ARCHIVED' }] })],
    ['recipients: Nobody would receive it.', campaign({ recipients: 0 })],
    [
      'sender-domain-verified: mail.acme.example is not verified: set up a sending domain.',
      campaign({ sender: { host: 'mail.acme.example', needsDomain: true, domain: null, replies: null } }),
    ],
    [
      'sender-domain-verified: The mail is from mail.acme.example, which is neither acme.example nor a host below it.',
      withDomain({ covers: false }),
    ],
    [
      'sender-domain-verified: acme.example is not verified: add its DNS records and have them checked.',
      withDomain({ verified: false }),
    ],
    [
      'sender-domain-verified: acme.example must not send now: look at its DNS records.',
      withDomain({ sendingAllowed: false }),
    ],
    [
      'sender-domain-verified: acme.example is suspended: Too many complaints.',
      withDomain({ verified: false, suspensionReason: 'Too many complaints.' }),
    ],
    ['subscription-active: The subscription does not allow sending.', campaign({ sendingAllowed: false })],
    ['email-quota: 3 e-mails needed, 2 left in this period.', campaign({ emailsRemaining: 2 })],
    [
      'merge-tags: Merge tags: {{ nobody }} is not known.',
      campaign({ mergeTagFaults: ['{{ nobody }} is not known'] }),
    ],
    [
      'content-empty: The campaign has no content: set contentJson or contentText.',
      withContent({ empty: true }),
    ],
    [
      'content-empty: The content cannot be made into a mail: content holds <script>, which mail cannot carry.',
      campaign({ content: null, contentFault: 'content holds <script>, which mail cannot carry' }),
    ],
    [
      'unsubscribe-link: The mail has no unsubscribe link that a reader can see.',
      withContent({ hasUnsubscribeLink: false }),
    ],
    [
      "postal-address: The mail does not show the sender's postal address: {{ project.postal_address }}.",
      withContent({ hasPostalAddress: false }),
    ],
    [
      'links: Links: javascript:x must be an http link.',
      withContent({ linkFaults: ['javascript:x must be an http link'] }),
    ],
    [
      'text-contrast: Nobody can read these on what is behind them: "Buy" (#ffffff on #ffffff).',
      withContent({ unreadable: ['"Buy" (#ffffff on #ffffff)'] }),
    ],
  ])('%s', (message, facts) => {
    expect(messages(facts)).toEqual([message]);
    expect(summarise(allChecks(facts)).status).toBe('FAILED');
  });

  it('refuse mail that its own DMARC policy tells receivers to refuse', () => {
    const alignment = { publishedAt: 'acme.example', policy: 'reject', dkim: false, spf: false } as const;
    const message =
      'Mail from mail.acme.example fails the DMARC policy of acme.example (p=reject), which wants mail.acme.example itself ' +
      'to sign or to return it, and acme.example does: send from acme.example, set mail.acme.example up as the sending ' +
      'domain, or publish adkim=r.';
    expect(messages(withDomain({ alignment }))).toEqual([
      `sender-domain-verified: ${message}`,
      `dmarc-policy: ${message}`,
    ]);
  });

  it('skip what does not apply in the test environment', () => {
    const sender = { host: 'mail.acme.example', needsDomain: false, domain: null, replies: null };
    const skipped = codes(campaign({ sender, emailsRemaining: null }), 'SKIPPED');
    expect(skipped).toEqual([
      'sender-domain-verified',
      'email-quota',
      'domain-warming',
      'dmarc-policy',
      'sender-replies',
    ]);
  });

  it('name no number of e-mails while the subscription allows no sending', () => {
    const facts = campaign({ sendingAllowed: false, emailsRemaining: 0 });
    expect(codes(facts, 'FAIL')).toEqual(['subscription-active']);
    expect(messages(facts, 'SKIPPED')).toEqual([
      'email-quota: Not looked at: the subscription does not allow sending.',
    ]);
  });

  it('have no quota to pass where the plan has no limit', () => {
    expect(messages(campaign({ emailsRemaining: Infinity }), 'PASS')).toContain(
      'email-quota: 3 e-mails needed, any number left in this period.',
    );
  });

  it('speak of one person as of one', () => {
    expect(messages(campaign({ recipients: 1, emailsRemaining: 5 }), 'PASS')).toEqual(
      expect.arrayContaining([
        'recipients: 1 subscriber will receive it.',
        'email-quota: 1 e-mail needed, 5 left in this period.',
      ]),
    );
  });

  it('skip what cannot be seen while merge tags cannot be read, and pass none of it', () => {
    const facts = campaign({ mergeTagFaults: ['output "{{ x" not closed'], content: null });
    expect(codes(facts, 'FAIL')).toEqual(['merge-tags']);
    expect(codes(facts, 'SKIPPED')).toEqual([
      'content-empty',
      'unsubscribe-link',
      'postal-address',
      'links',
      'text-contrast',
      'subject-length',
      'preview-text',
      'spam-words',
      'image-text-ratio',
      'plain-text',
      'html-size',
      'removed-content',
      'gone-images',
      'empty-subject',
      'empty-links',
      'alt-text',
      'link-domains',
      'personalisation',
    ]);
  });

  it('do not pass the contrast of a mail whose style sheets are too much to look at', () => {
    expect(messages(withContent({ unreadable: null }), 'SKIPPED')).toContain(
      'text-contrast: Not looked at: the style sheets hold too many rules for so many elements.',
    );
  });

  it('show twenty faults and say how many more there are', () => {
    const linkFaults = Array.from({ length: 25 }, (_, at) => `link ${at}`);
    expect(messages(withContent({ linkFaults }))[0]).toMatch(/link 19; and 5 more\.$/);
  });

  it('fail the analysis alone, whatever the score, and the score is never below 0', () => {
    expect(summarise(allChecks(withContent({ linkFaults: ['x'] })))).toMatchObject({
      score: 80,
      status: 'FAILED',
    });
    const bad = campaign({ topics: [], recipients: 0, sendingAllowed: false });
    expect(summarise(allChecks(bad))).toMatchObject({ score: 0, status: 'FAILED' });
  });
});

const failures = (analysis: ReturnType<typeof analyseCampaign>) =>
  analysis.checks.filter(({ result }) => result === 'FAIL').map(({ code, message }) => [code, message]);

describe('a campaign in several languages', () => {
  it('is judged as one in a single language where they are all in order', () => {
    const facts = campaign();
    const analysis = analyseCampaign(facts, new Map([['de', facts]]));
    expect(analysis).toEqual(summarise(allChecks(facts)));
  });

  it('fails by one translation, which the check names', () => {
    const de = campaign({ mergeTagFaults: ['{{ nobody }} is not known'] });
    const analysis = analyseCampaign(
      campaign(),
      new Map([
        ['de', de],
        ['ja', campaign()],
      ]),
    );
    expect(analysis).toMatchObject({ score: 70, status: 'FAILED' });
    expect(failures(analysis)).toEqual([['merge-tags', 'de: Merge tags: {{ nobody }} is not known.']]);
    expect(analysis.checks).toHaveLength(allChecks(campaign()).length);
  });

  it('has the score of the language that does worst, and each fault of each language', () => {
    const facts = withContent({ subject: 'x'.repeat(75) });
    const analysis = analyseCampaign(
      facts,
      new Map([
        ['de', withContent({ subject: 'x'.repeat(80), previewText: null })],
        ['ja', withContent({ images: [''] })],
      ]),
    );
    expect(analysis).toMatchObject({ score: 92, status: 'WARNING' });
    expect(failures(analysis).map(([code, message]) => `${code}: ${message}`)).toEqual([
      'subject-length: The subject has 75 characters; inboxes cut it off after 70. de: The subject has 80 characters; inboxes cut it off after 70.',
      'preview-text: de: Set previewText: without it, inboxes show the first words of the mail.',
      'alt-text: ja: 1 of 1 images have no alt text, which is all that many readers get of them.',
    ]);
  });

  it('loses what no language could help once, be it in ten of them', () => {
    const facts = campaign({ recipients: 0 });
    expect(analyseCampaign(facts, new Map([['de', facts]]))).toMatchObject({ score: 60, status: 'FAILED' });
  });
});

type Relays = NonNullable<CampaignFacts['relays']>;
type Result = 'PASS' | 'FAIL' | 'SKIPPED';

const relay = (name: string, status: Relays[number]['status'], isSilent = false) => ({
  name,
  status,
  isSilent,
});
const told = (code: string, result: Result, relays: Relays | null) =>
  messages(campaign({ relays }), result).find((message) => message.startsWith(`${code}: `));

describe('the relays in the analysis', () => {
  it.each<[Result, string, Relays | null]>([
    ['PASS', 'The relay of the installation sends it.', []],
    ['PASS', 'Relays that send it: Main.', [relay('Main', 'ACTIVE')]],
    ['PASS', 'Relays that send it: Second.', [relay('Main', 'FAILING'), relay('Second', 'ACTIVE')]],
    [
      'FAIL',
      'The mail will wait, because no relay for campaigns can be used: Main is PAUSED; Second is FAILING. Repair or resume one.',
      [relay('Main', 'PAUSED'), relay('Second', 'FAILING')],
    ],
    ['SKIPPED', 'Test mail stays in its inbox.', null],
  ])('%s: %s', (result, message, relays) => {
    expect(told('relays', result, relays)).toBe(`relays: ${message}`);
  });

  it('warn of mail that will wait, and refuse nothing', () => {
    const facts = campaign({ relays: [relay('Main', 'PAUSED')] });
    expect(summarise(allChecks(facts))).toMatchObject({ status: 'WARNING', score: 90 });
  });

  it('hint at a provider that was handed mail and never told what became of it', () => {
    const relays = [relay('Main', 'ACTIVE', true), relay('Second', 'ACTIVE')];
    expect(told('relay-feedback', 'PASS', relays)).toBe(
      'relay-feedback: No provider has told what became of the mail of: Main. Enter the feedbackUrl of the relay there.',
    );
    expect(summarise(allChecks(campaign({ relays })))).toMatchObject({ status: 'PASSED', score: 100 });
  });

  it.each<[Result, string, Relays | null]>([
    ['PASS', 'No provider that was handed mail is silent about it.', [relay('Main', 'ACTIVE')]],
    ['SKIPPED', 'No relay of the project sends it.', []],
    ['SKIPPED', 'No relay of the project sends it.', null],
  ])('say of feedback: %s: %s', (result, message, relays) => {
    expect(told('relay-feedback', result, relays)).toBe(`relay-feedback: ${message}`);
  });
});

const MINUTE = 60_000;
const after = (minutes: number) => new Date(NOW.getTime() + minutes * MINUTE);
const at = (
  destination: string,
  recipients: number,
  mailsPerSecond: number | null,
  slowUntil: Date | null = null,
): DestinationFacts => ({ destination, recipients, mailsPerSecond, slowUntil });
const limitsOf = (destinations: DestinationFacts[] | null) =>
  allChecks(campaign({ destinations })).find(({ code }) => code === 'destination-limits');

describe('the limits of destinations in the analysis', () => {
  it.each<[string, DestinationFacts[], string]>([
    ['nobody there', [], 'No recipient is at a mailbox provider with a limit.'],
    [
      'few people',
      [at('google', 40, 50)],
      'Takes a minute at most. google: 40 mails at 50 a second, a minute at most.',
    ],
    [
      'many people, the slowest first',
      [at('google', 400_000, 50), at('microsoft', 360_000, 30), at('orange', 1_000, 5)],
      'Takes at least 3 h 20 min. microsoft: 360000 mails at 30 a second, at least 3 h 20 min; ' +
        'google: 400000 mails at 50 a second, at least 2 h 14 min; orange: 1000 mails at 5 a second, at least 4 min.',
    ],
    [
      'days of mail',
      [at('free', 1_000_000, 5)],
      'Takes at least 2 d 7 h. free: 1000000 mails at 5 a second, at least 2 d 7 h.',
    ],
    [
      'a provider that is slowed down, and enough to outlast it',
      [at('yahoo', 24_090, 20, after(90))],
      'Takes at least 1 h 50 min. yahoo: 24090 mails at one a minute until 2026-11-21T11:30Z, then 20 a second, at least 1 h 50 min.',
    ],
    [
      'a domain without a limit that is slowed down',
      [at('shop.example', 30, null, after(90))],
      'Takes at least 30 min. shop.example: 30 mails at one a minute until 2026-11-21T11:30Z, at least 30 min.',
    ],
    [
      'more destinations than are named',
      Array.from({ length: 7 }, (_, n) => at(`p${n}`, 6_000 * (n + 1), 10)),
      'Takes at least 1 h 10 min. p6: 42000 mails at 10 a second, at least 1 h 10 min; p5: 36000 mails at 10 a second, at least 1 h; ' +
        'p4: 30000 mails at 10 a second, at least 50 min; p3: 24000 mails at 10 a second, at least 40 min; ' +
        'p2: 18000 mails at 10 a second, at least 30 min; 2 more are faster.',
    ],
  ])('are told for %s', (_, destinations, message) => {
    expect(limitsOf(destinations)).toEqual({
      code: 'destination-limits',
      severity: 'INFO',
      result: 'PASS',
      message,
    });
  });

  it('are not looked at where nothing limits', () => {
    expect(limitsOf(null)).toMatchObject({
      severity: 'INFO',
      result: 'SKIPPED',
      message: 'Nothing limits how fast this mail goes.',
    });
  });
});
