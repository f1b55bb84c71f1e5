import { describe, expect, it } from '@jest/globals';
import { withstandsAnything } from '#testing/relays/hostile-feedback';
import type { TakenMail } from '#testing/relays/provider-sink';
import { sesEvent, sesProof, snsPost } from '#testing/relays/ses';
import { type FeedbackFormat, UnreadableFeedbackError } from './kind.js';
import { sesKind } from './ses-kind.js';

const TOKEN = 'b+abc.def-G_7';
const { feedback } = sesKind;
const isGenuine: FeedbackFormat['isGenuine'] = (request, proof) => feedback.isGenuine(request, proof);
const read: FeedbackFormat['read'] = (request) => feedback.read(request);

const headers = sesKind.headersOf({
  token: TOKEN,
  stream: 'CAMPAIGN',
  options: { configurationSet: 'news' },
});
const raw = [...headers.map(([name, value]) => `${name}: ${value}`), '', 'Hello'].join('\r\n');
const MAIL: TakenMail = { id: '0102018b-000000', to: 'Ada@example.com', raw: Buffer.from(raw) };
const ABOUT = { token: TOKEN, providerMessageId: MAIL.id, address: 'Ada@example.com' };

const eventsOf = (message: object | string) => read(snsPost(message)).events;

describe('SES as a relay', () => {
  it('is reached at the endpoint of its region, and nowhere without one', () => {
    expect(sesKind.endpoint({ region: 'eu-central-1' })).toEqual({
      host: 'email-smtp.eu-central-1.amazonaws.com',
      port: 587,
      tls: 'REQUIRED',
    });
    for (const region of [undefined, '', 'europe', 'evil.example/', 'eu-west-1.evil.example'])
      expect(sesKind.endpoint(region === undefined ? {} : { region })).toBeNull();
  });

  it('is told the configuration set where there is one, and our token in the letters that tags may have', () => {
    expect(headers).toEqual([
      ['X-SES-CONFIGURATION-SET', 'news'],
      ['X-SES-MESSAGE-TAGS', expect.stringMatching(/^mailwright=[\w-]+$/)],
    ]);
    const [only, ...others] = sesKind.headersOf({ token: 'a'.repeat(64), stream: 'TEST', options: {} });
    expect(only?.[1].length).toBeLessThanOrEqual('mailwright='.length + 256);
    expect(others).toEqual([]);
  });
});

describe('what SES tells', () => {
  it('is read alike from event publishing and from notifications, which have no tags', () => {
    const bounce = { kind: 'bounce', said: '550 5.1.1 user unknown' } as const;
    const fact = {
      kind: 'bounce',
      class: 'hard',
      basicCode: 550,
      enhancedCode: '5.1.1',
      excerpt: '550 5.1.1 user unknown',
    };
    expect(eventsOf(sesEvent(MAIL, bounce))).toEqual([{ ...fact, ...ABOUT }]);
    expect(eventsOf(sesEvent(MAIL, bounce, 'notificationType'))).toEqual([
      { ...fact, ...ABOUT, token: null },
    ]);
  });

  const bounced = (bounceType: string, bounceSubType: string, recipient: object = {}) =>
    eventsOf({
      eventType: 'Bounce',
      bounce: {
        bounceType,
        bounceSubType,
        bouncedRecipients: [{ emailAddress: 'ada@example.com', ...recipient }],
      },
      mail: { messageId: 'm', destination: ['ada@example.com'] },
    }).map((event) => (event.kind === 'bounce' ? event.class : event.kind));

  it.each([
    ['Undetermined', 'Undetermined', 'unknown'],
    ['Permanent', 'General', 'hard'],
    ['Permanent', 'NoEmail', 'hard'],
    ['Permanent', 'Suppressed', 'hard'],
    ['Permanent', 'OnAccountSuppressionList', 'hard'],
    ['Transient', 'General', 'unknown'],
    ['Transient', 'MailboxFull', 'mailbox'],
    ['Transient', 'MessageTooLarge', 'content'],
    ['Transient', 'ContentRejected', 'content'],
    ['Transient', 'AttachmentRejected', 'content'],
    ['Transient', 'SomethingNew', 'unknown'],
    ['constructor', '__proto__', 'unknown'],
  ])('means, as a bounce %s %s without a report: %s', (type, subtype, expected) => {
    expect(bounced(type, subtype)).toEqual([expected]);
  });

  it('keeps an address when the server blocks the sender for good, or an out-of-office reply says its code', () => {
    const block = { status: '5.7.1', diagnosticCode: 'smtp; 550 5.7.1 blocked using zen.spamhaus.org' };
    expect(bounced('Permanent', 'General', block)).toEqual(['policy']);
    expect(bounced('Permanent', 'NoEmail', block)).toEqual(['hard']);
    expect(bounced('Transient', 'General', { diagnosticCode: 'smtp; 550 5.1.1 user unknown' })).toEqual([
      'unknown',
    ]);
  });

  it('is left out for a recipient who is only late, for a reader who says it is no spam, and for a failed signature', () => {
    expect(bounced('Permanent', 'General', { status: '4.0.0', action: 'delayed' })).toEqual([]);
    for (const complaintFeedbackType of ['not-spam', 'auth-failure']) {
      const complaint = {
        complaintFeedbackType,
        complainedRecipients: [{ emailAddress: 'ada@example.com' }],
      };
      expect(eventsOf({ eventType: 'Complaint', complaint, mail: { messageId: 'm' } })).toEqual([]);
    }
  });

  it('is a bounce of content where SES found a virus and sent nothing', () => {
    const reject = { eventType: 'Reject', reject: { reason: 'Bad content' } };
    expect(eventsOf({ ...reject, mail: { messageId: 'm', destination: ['ada@example.com'] } })).toMatchObject(
      [{ kind: 'bounce', class: 'content', excerpt: 'Bad content', address: 'ada@example.com' }],
    );
  });

  it('is nothing while a topic is set up, and unreadable when SNS has not sent it', () => {
    const sentence = 'Successfully validated SNS topic for Amazon SES event publishing.';
    for (const message of [sentence, { notificationType: 'AmazonSnsSubscriptionSucceeded' }, 'null', {}])
      expect(read(snsPost(message))).toEqual({ events: [] });
    const request = snsPost({});
    for (const body of [
      '',
      '[]',
      'null',
      '{}',
      '{"Type":"Notification"}',
      JSON.stringify(sesEvent(MAIL, { kind: 'delivered' })),
    ])
      expect(() => read({ ...request, body: Buffer.from(body) })).toThrow(UnreadableFeedbackError);
  });
});

describe('a message of SNS', () => {
  const event = sesEvent(MAIL, { kind: 'delivered' });
  const changed = (fields: Readonly<Record<string, string>>, post = snsPost(event)) => ({
    ...post,
    body: Buffer.from(JSON.stringify({ ...(JSON.parse(post.body.toString()) as object), ...fields })),
  });

  it.each(['1', '2'] as const)('of any type is genuine, with signature version %s', async (version) => {
    for (const type of ['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation'] as const)
      expect(await isGenuine(snsPost(event, { type, version }), sesProof)).toBe(true);
    expect(await isGenuine(snsPost(event, { version, fields: { Subject: 'News' } }), sesProof)).toBe(true);
  });

  it('is not when one of its fields was changed, or another algorithm is claimed', async () => {
    for (const field of [
      'Message',
      'MessageId',
      'Timestamp',
      'TopicArn',
      'Signature',
      'Subject',
      'SignatureVersion',
      'Type',
    ]) {
      const forged = changed({ [field]: field === 'SignatureVersion' ? '2' : 'UnsubscribeConfirmation' });
      expect(await isGenuine(forged, { ...sesProof, key: null })).toBe(false);
    }
    for (const body of ['', '{', 'null', '{}'])
      expect(await isGenuine({ ...snsPost(event), body: Buffer.from(body) }, sesProof)).toBe(false);
  });

  it('is not when its certificate is not at a host of SNS: that is not even asked', async () => {
    const asked: string[] = [];
    const fetchText = (url: string) => {
      asked.push(url);
      return sesProof.fetchText(url);
    };
    const hosts = [
      'sns.eu-west-1.amazonaws.com.evil.example',
      'sns.evil.example',
      'evil.example',
      's3.amazonaws.com',
    ];
    const urls = [
      ...hosts.map((host) => `https://${host}/cert.pem`),
      'http://sns.eu-west-1.amazonaws.com/cert.pem',
      'https://sns.eu-west-1.amazonaws.com:444/cert.pem',
      'https://evil.example\\@sns.eu-west-1.amazonaws.com/cert.pem',
      'https://user@sns.eu-west-1.amazonaws.com/cert.pem',
      'https://sns.eu-west-1.amazonaws.com/?Action=Publish&x=.pem',
      'not a url',
      '',
    ];
    for (const SigningCertURL of urls)
      expect(
        await isGenuine(snsPost(event, { fields: { SigningCertURL } }), { ...sesProof, fetchText }),
      ).toBe(false);
    expect(asked).toEqual([]);
  });

  it('has its certificate at amazonaws.com.cn in China', async () => {
    const SigningCertURL = 'https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-1.pem';
    const asked: string[] = [];
    const fetchText = (url: string) => {
      asked.push(url);
      return Promise.resolve('no certificate');
    };
    expect(await isGenuine(snsPost(event, { fields: { SigningCertURL } }), { ...sesProof, fetchText })).toBe(
      false,
    );
    expect(asked).toEqual([SigningCertURL]);
  });

  it('is not when it comes raw: without its envelope nothing proves it', async () => {
    const bare = { ...snsPost(event), body: Buffer.from(JSON.stringify(event)) };
    expect(await isGenuine(bare, sesProof)).toBe(false);
    expect(await isGenuine(bare, { ...sesProof, key: null })).toBe(false);
  });

  it('is not when the certificate is not valid at that time; rejects when it cannot be had', async () => {
    expect(await isGenuine({ ...snsPost(event), receivedAt: new Date('2019-12-31') }, sesProof)).toBe(false);
    const fetchText = () => Promise.reject(new Error('No answer.'));
    await expect(isGenuine(snsPost(event), { ...sesProof, fetchText })).rejects.toThrow('No answer.');
  });

  it('is not when it is of another topic than the one that the relay has pinned', async () => {
    const other = snsPost(event, { fields: { TopicArn: 'arn:aws:sns:eu-west-1:210987654321:theirs' } });
    expect(await isGenuine(other, sesProof)).toBe(false);
    expect(await isGenuine(other, { ...sesProof, key: null })).toBe(true);
  });

  it('confirms a subscription at a host of SNS alone, and never the end of one', async () => {
    const type = 'SubscriptionConfirmation';
    expect(read(snsPost('You have chosen to subscribe', { type }))).toEqual({
      events: [],
      confirmUrl: expect.stringMatching(
        /^https:\/\/sns\.eu-west-1\.amazonaws\.com\/\?Action=ConfirmSubscription&/,
      ),
    });
    const elsewhere = snsPost('', {
      type,
      fields: { SubscribeURL: 'https://evil.example/?Action=ConfirmSubscription' },
    });
    expect(await isGenuine(elsewhere, sesProof)).toBe(false);
    expect(read(elsewhere)).toEqual({ events: [] });
    expect(read(snsPost('', { type: 'UnsubscribeConfirmation' }))).toEqual({ events: [] });
  });
});

it('a confirmation or notification that was changed is read or refused, and never more', () =>
  withstandsAnything(feedback, sesProof, [
    snsPost(sesEvent(MAIL, { kind: 'delivered' }, 'notificationType')),
    snsPost('', { type: 'SubscriptionConfirmation' }),
  ]));
