import { describe, expect, it } from '@jest/globals';
import type { CampaignFacts } from './campaign-facts.js';
import { CRITICAL_WEIGHTS, INFORMATION_WEIGHTS, WARNING_WEIGHTS } from './check-weights.js';
import { allChecks, campaign, codes, messages, withContent, withDomain } from './pre-send.fixture.js';
import { summarise } from './pre-send-check.js';

const CODES = [
  ...Object.keys(CRITICAL_WEIGHTS),
  ...Object.keys(WARNING_WEIGHTS),
  ...Object.keys(INFORMATION_WEIGHTS),
];

describe('the critical checks', () => {
  it('pass for a campaign in order, with full marks', () => {
    expect(summarise(allChecks(campaign()))).toMatchObject({ score: 100, status: 'PASSED' });
    expect(codes(campaign(), 'PASS').toSorted()).toEqual(CODES.toSorted());
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
