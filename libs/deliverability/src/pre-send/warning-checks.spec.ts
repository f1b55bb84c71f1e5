import { describe, expect, it } from '@jest/globals';
import type { CampaignFacts } from './campaign-facts.js';
import { summarise, WARNING_WEIGHTS } from './pre-send-check.js';
import {
  allChecks,
  messages,
  NOW,
  withContent,
  withDomain,
  withReplies,
} from '#testing/fixtures/campaign-facts';

const DAY = 86_400_000;
const daysAgo = (days: number) => new Date(NOW.getTime() - days * DAY);

describe('the warnings', () => {
  it.each<[keyof typeof WARNING_WEIGHTS, string, CampaignFacts]>([
    [
      'subject-length',
      'The subject has 71 characters; inboxes cut it off after 70.',
      withContent({ subject: 'x'.repeat(71) }),
    ],
    [
      'preview-text',
      'Set previewText: without it, inboxes show the first words of the mail.',
      withContent({ previewText: ' ' }),
    ],
    [
      'spam-words',
      'Filters know these words from unwanted mail: act now; free gift.',
      withContent({ subject: 'Your FREE  gift', ownText: 'ACT NOW! '.repeat(20) }),
    ],
    [
      'image-text-ratio',
      '60 characters of text beside 1 image; 100 for each would do better, since many readers see no images.',
      withContent({ visibleText: 'x'.repeat(60) }),
    ],
    [
      'plain-text',
      'contentText says much less than the HTML part; filters compare them.',
      withContent({ ownText: 'See the web page.' }),
    ],
    [
      'html-size',
      'The HTML part has 101 KB as it is sent; Gmail hides what is beyond 100 KB, the unsubscribe link with it.',
      withContent({ htmlBytes: 100 * 1024 + 1 }),
    ],
    [
      'removed-content',
      'No mail carries these, so they were left out: contentJson.blocks[0].html: <script>; contentJson.blocks[1].html: <form>.',
      withContent({
        removed: ['contentJson.blocks[0].html: <script>', 'contentJson.blocks[1].html: <form>'],
      }),
    ],
    [
      'gone-images',
      'Readers see a gap, since these images were deleted or never uploaded: https://mail.example/media/1-0.png.',
      withContent({ goneImages: ['https://mail.example/media/1-0.png'] }),
    ],
    [
      'empty-subject',
      'The subject is empty for readers without its values: add words, or a default as in {{ subscriber.first_name | default: "you" }}.',
      withContent({ subjectMayBeEmpty: true }),
    ],
    [
      'empty-links',
      'These lead nowhere for readers without the value: give a default, or leave the link out by an if: {{ custom.shop }}.',
      withContent({ emptyLinks: ['{{ custom.shop }}'] }),
    ],
    [
      'alt-text',
      '1 of 2 images have no alt text, which is all that many readers get of them.',
      withContent({ images: ['A bicycle', ' '] }),
    ],
    [
      'link-domains',
      'Filters distrust links to: bit.ly (a link shortener); 192.0.2.1 (an IP address).',
      withContent({
        urls: ['https://BIT.ly/x', 'https://bit.ly/y', 'http://192.0.2.1/', 'https://ok.example'],
      }),
    ],
    [
      'personalisation',
      'The mail is the same for everybody: a merge tag such as {{ subscriber.first_name }} makes it personal.',
      withContent({ personal: false }),
    ],
    [
      'domain-warming',
      'acme.example is new: 200 mails on its day 1, 501 needed. They would take 3 days.',
      withDomain({ verifiedAt: NOW }, { recipients: 501, emailsRemaining: 1_000 }),
    ],
    [
      'sender-replies',
      'Answers come back, since these domains have no mail server (no MX record, no address): answers.example. Publish an MX record there, or set replyTo to an address that somebody reads.',
      withReplies({ 'mail.acme.example': true, 'answers.example': false, 'unknown.example': null }),
    ],
    [
      'dmarc-policy',
      'Mail from mail.acme.example passes DMARC by SPF alone, and fails where it is forwarded: acme.example has adkim=s, and acme.example signs.',
      withDomain({ alignment: { publishedAt: 'acme.example', policy: 'reject', dkim: false, spf: true } }),
    ],
    [
      'dmarc-policy',
      'Mail from mail.acme.example passes DMARC only where the provider of the relay signs as that host too: acme.example has adkim=s, and acme.example signs.',
      withDomain({ alignment: { publishedAt: 'acme.example', policy: 'reject', dkim: false, spf: null } }),
    ],
    [
      'dmarc-policy',
      'Mail from mail.acme.example fails the DMARC policy of mail.acme.example (p=none), which wants mail.acme.example itself to sign or to return it, and acme.example does: send from acme.example, set mail.acme.example up as the sending domain, or publish adkim=r.',
      withDomain({
        alignment: { publishedAt: 'mail.acme.example', policy: 'none', dkim: false, spf: false },
      }),
    ],
    [
      'dmarc-policy',
      'acme.example has no valid DMARC record (MISSING: there is none).',
      withDomain({ dmarc: { status: 'FAILED', failureReason: 'MISSING: there is none', advice: null } }),
    ],
  ])('%s: %s', (code, message, facts) => {
    expect(messages(facts)).toEqual([`${code}: ${message}`]);
    expect(summarise(allChecks(facts))).toMatchObject({
      score: 100 - WARNING_WEIGHTS[code],
      status: 'WARNING',
    });
  });

  it.each<[string, CampaignFacts]>([
    ['subject-length: The subject has 70 characters.', withContent({ subject: '😀'.repeat(70) })],
    ['preview-text: There is a preview text.', withContent({})],
    ['spam-words: No words of unwanted mail.', withContent({ subject: 'A breadwinner and his casinos' })],
    ['image-text-ratio: There are no images.', withContent({ images: [], visibleText: 'Hi' })],
    [
      'image-text-ratio: 100 characters of text beside 1 image.',
      withContent({ visibleText: 'x'.repeat(100) }),
    ],
    ['plain-text: The text part is made from the HTML.', withContent({})],
    [
      'plain-text: The text part says what the HTML says.',
      withContent({ ownText: 'What is new. '.repeat(9) }),
    ],
    ['html-size: The HTML part has 100 KB as it is sent.', withContent({ htmlBytes: 100 * 1024 })],
    ['removed-content: All that was written is in the mail.', withContent({})],
    ['gone-images: No uploaded image is missing.', withContent({})],
    ['empty-subject: The subject says something to every reader.', withContent({})],
    ['empty-links: All links lead somewhere for every reader.', withContent({})],
    ['alt-text: All images have a text.', withContent({ images: [] })],
    [
      'link-domains: Links lead to hosts with names of their own.',
      withContent({
        urls: ['{{ custom.link }}', 'mailto:a@192.0.2.1', 'https://notbit.ly', 'https://1.example'],
      }),
    ],
    ['personalisation: The mail uses what is known of its reader.', withContent({})],
    ['domain-warming: acme.example is known by now.', withDomain({ verifiedAt: daysAgo(30) })],
    [
      'domain-warming: acme.example is new: 200 mails on its day 1, 200 needed.',
      withDomain({ verifiedAt: NOW }, { recipients: 200, emailsRemaining: 200 }),
    ],
    ['dmarc-policy: acme.example asks receivers to act on forged mail.', withDomain({})],
    ['sender-replies: Answers can be received at: mail.acme.example.', withDomain({})],
    [
      'dmarc-policy: acme.example asks receivers to act on forged mail.',
      withDomain({ alignment: { publishedAt: 'acme.example', policy: 'reject', dkim: true, spf: false } }),
    ],
  ])('pass: %s', (message, facts) => {
    expect(messages(facts, 'PASS')).toContain(message);
  });

  it('inform of the next step after p=none, which we ask for ourselves, and take nothing from the score', () => {
    const facts = withDomain({
      dmarc: { status: 'VERIFIED', failureReason: null, advice: 'p=none asks receivers to do nothing' },
    });
    expect(messages(facts)).toEqual([]);
    expect(allChecks(facts)).toContainEqual({
      code: 'dmarc-policy',
      severity: 'INFO',
      result: 'PASS',
      message: 'DMARC of acme.example: p=none asks receivers to do nothing.',
    });
    expect(summarise(allChecks(facts))).toMatchObject({ score: 100, status: 'PASSED' });
  });

  it('say of a mail of images alone that its text part says nothing', () => {
    expect(messages(withContent({ visibleText: '', images: ['A bicycle'] }))).toContain(
      'plain-text: The text part says nothing: the mail is made of images alone. Set contentText.',
    );
  });

  it.each(['http://2130706433/', 'http://0x7f.1/', 'https://[2001:db8::1]/', 'http://192.0.2.1.:8080/x'])(
    'know %s for an IP address, as a browser does',
    (url) => {
      expect(messages(withContent({ urls: [url] }))[0]).toMatch(/^link-domains: .* \(an IP address\)\.$/);
    },
  );

  it('leave out what a domain tells while it is not verified, or its DMARC record not looked at', () => {
    expect(messages(withDomain({ verified: false }), 'SKIPPED')).toEqual([
      'domain-warming: Not looked at: no verified domain sends it.',
      'dmarc-policy: Not looked at: no verified domain sends it.',
    ]);
    expect(messages(withReplies({ 'acme.example': true, 'away.example': null }), 'SKIPPED')).toEqual([
      'sender-replies: DNS did not tell whether answers can be received at: away.example.',
    ]);
    expect(messages(withDomain({ dmarc: null }), 'SKIPPED')).toEqual([
      'dmarc-policy: The DMARC record was not checked yet.',
    ]);
    expect(messages(withContent({ personal: null }), 'SKIPPED')).toEqual([
      'personalisation: Not looked at: the content cannot be read yet.',
    ]);
  });
});
