import { describe, expect, it } from '@jest/globals';
import { POSTMARK_PASSWORD, postmarkEvent, postmarkPost } from '#testing/relays/postmark';
import { proofBy, type TakenMail } from '#testing/relays/provider-sink';
import { type FeedbackFormat, RELAY_STREAMS, UnreadableFeedbackError } from './kind.js';
import { postmarkKind } from './postmark-kind.js';

const TOKEN = 'b+abc.def-G_7';
const { feedback } = postmarkKind;
const isGenuine: FeedbackFormat['isGenuine'] = (request, proof) => feedback.isGenuine(request, proof);
const read: FeedbackFormat['read'] = (request) => feedback.read(request);

const headers = postmarkKind.headersOf({ token: TOKEN, stream: 'CAMPAIGN', options: {} });
const raw = [...headers.map(([name, value]) => `${name}: ${value}`), 'Subject: News', '', 'Hello'].join(
  '\r\n',
);
const MAIL: TakenMail = {
  id: '883953f4-6105-42a2-a16a-77a8eac79483',
  to: 'Ada@example.com',
  raw: Buffer.from(raw),
};
const ABOUT = { token: TOKEN, providerMessageId: MAIL.id, address: 'Ada@example.com' };
const PROOF = proofBy(POSTMARK_PASSWORD);

const eventsOf = (event: object) => read(postmarkPost(event)).events;

describe('Postmark as a relay', () => {
  it('is reached at the host of transactional mail, or of broadcasts where its stream is that', () => {
    const endpoint = { host: 'smtp.postmarkapp.com', port: 587, tls: 'REQUIRED' };
    expect(postmarkKind.endpoint({})).toEqual(endpoint);
    expect(postmarkKind.endpoint({ messageStream: 'receipts' })).toEqual(endpoint);
    expect(postmarkKind.endpoint({ messageStream: 'broadcast' })?.host).toBe(
      'smtp-broadcasts.postmarkapp.com',
    );
  });

  it('sends campaigns and automations as broadcasts, the rest as transactional mail, all as the option says', () => {
    const streams = RELAY_STREAMS.map((stream) => {
      const [[name, value] = []] = postmarkKind.headersOf({ token: TOKEN, stream, options: {} });
      expect(name).toBe('X-PM-Message-Stream');
      return [stream, value];
    });
    expect(Object.fromEntries(streams)).toEqual({
      OPT_IN: 'outbound',
      CAMPAIGN: 'broadcast',
      AUTOMATION: 'broadcast',
      TRANSACTIONAL: 'outbound',
      TEST: 'outbound',
    });
    const named = postmarkKind.headersOf({
      token: TOKEN,
      stream: 'CAMPAIGN',
      options: { messageStream: 'news' },
    });
    expect(named).toContainEqual(['X-PM-Message-Stream', 'news']);
  });

  it('keeps our Message-ID, and gives back our token, which fits into its bounds', () => {
    expect(headers).toContainEqual(['X-PM-KeepID', 'true']);
    expect(headers).toContainEqual(['X-PM-Metadata-mailwright', TOKEN]);
  });

  it('takes the id from a reply that has one', () => {
    expect(postmarkKind.messageIdOf(`2.0.0 Ok: queued as ${MAIL.id.toUpperCase()}`)).toBe(MAIL.id);
    for (const text of ['', '2.0.0 Ok: queued as 4cXk7T1QyLz9sVx', 'Ok'])
      expect(postmarkKind.messageIdOf(text)).toBeNull();
  });
});

describe('what Postmark tells', () => {
  it('is a bounce with the words of the server', () => {
    const said = '550 5.1.1 The email account that you tried to reach does not exist.';
    expect(eventsOf(postmarkEvent(MAIL, { kind: 'bounce', said }))).toEqual([
      { kind: 'bounce', class: 'hard', basicCode: 550, enhancedCode: '5.1.1', excerpt: said, ...ABOUT },
    ]);
  });

  // postmarkapp.com/developer/api/bounce-api, “Bounce types”: every one of them, without words of a server.
  it.each([
    ['HardBounce', 1, 'hard'],
    ['Transient', 2, null],
    ['Unsubscribe', 16, 'unsubscribed'],
    ['Subscribe', 32, null],
    ['AutoResponder', 64, null],
    ['AddressChange', 128, null],
    ['DnsError', 256, 'network'],
    ['SpamNotification', 512, 'content'],
    ['OpenRelayTest', 1024, null],
    ['Unknown', 2048, 'unknown'],
    ['SoftBounce', 4096, 'mailbox'],
    ['VirusNotification', 8192, 'content'],
    ['ChallengeVerification', 16384, null],
    ['BadEmailAddress', 100000, 'hard'],
    ['SpamComplaint', 100001, 'complaint'],
    ['ManuallyDeactivated', 100002, 'unknown'],
    ['Unconfirmed', 100003, 'unknown'],
    ['Blocked', 100006, 'policy'],
    ['SMTPApiError', 100007, 'unknown'],
    ['InboundError', 100008, null],
    ['DMARCPolicy', 100009, 'sender'],
    ['TemplateRenderingFailed', 100010, 'content'],
    ['constructor', 0, null],
  ])('is, as a bounce of type %s (%d): %s', (Type, TypeCode, expected) => {
    const told = eventsOf({ RecordType: 'Bounce', Type, TypeCode, Details: '' });
    expect(told.map((event) => (event.kind === 'bounce' ? event.class : event.kind))).toEqual(
      expected === null ? [] : [expected],
    );
  });

  it('follows the words where a type leaves several reasons open, but a soft bounce is never for good', () => {
    const classOf = (Type: string, Details: string) =>
      eventsOf({ RecordType: 'Bounce', Type, Details }).map(
        (event) => event.kind === 'bounce' && event.class,
      );
    const blocked = 'smtp;554 5.7.1 blocked using zen.spamhaus.org';
    expect(classOf('SoftBounce', blocked)).toEqual(['policy']);
    expect(classOf('SoftBounce', 'smtp;550 5.1.1 user unknown')).toEqual(['mailbox']);
    expect(classOf('SpamNotification', blocked)).toEqual(['policy']);
    expect(classOf('Unknown', 'smtp;550 5.1.1 user unknown')).toEqual(['hard']);
    expect(classOf('HardBounce', blocked)).toEqual(['hard']);
  });

  it('is, of a suppression, its reason; nothing when it ends', () => {
    const change = (SuppressionReason: string | null, SuppressSending = true) =>
      eventsOf({
        ...postmarkEvent(MAIL, { kind: 'unsubscribed' }),
        MessageID: null,
        SuppressionReason,
        SuppressSending,
      });
    expect(change('HardBounce')).toMatchObject([{ kind: 'bounce', class: 'hard', providerMessageId: null }]);
    expect(change('SpamComplaint')).toMatchObject([{ kind: 'complaint', address: 'Ada@example.com' }]);
    expect(change('ManualSuppression')).toMatchObject([{ kind: 'unsubscribed' }]);
    expect(change('SomethingNew')).toEqual([]);
    expect(change(null, false)).toEqual([]);
    expect(change('ManualSuppression', false)).toEqual([]);
  });

  it('is nothing of opens and of types to come, and unreadable without a type', () => {
    for (const RecordType of ['Open', 'Click', 'Inbound', 'SomethingNew', '__proto__'])
      expect(eventsOf({ RecordType, MessageID: MAIL.id })).toEqual([]);
    for (const body of ['', '{', 'null', '[]', '{}', '{"RecordType":1}'])
      expect(() => read({ ...postmarkPost({}), body: Buffer.from(body) })).toThrow(UnreadableFeedbackError);
  });
});

describe('a request of Postmark', () => {
  const post = postmarkPost(postmarkEvent(MAIL, { kind: 'delivered' }));
  const authorizedBy = (authorization: string) => ({ ...post, headers: { ...post.headers, authorization } });
  const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;

  it('is genuine with the password that the relay has, whoever the user is', async () => {
    expect(await isGenuine(post, PROOF)).toBe(true);
    expect(await isGenuine(authorizedBy(basic(`:${POSTMARK_PASSWORD}`)), PROOF)).toBe(true);
    expect(await isGenuine(authorizedBy(basic('u:a:b')), { ...PROOF, key: 'a:b' })).toBe(true);
  });

  it('needs no password where the relay has none: the address is the secret', async () => {
    expect(await isGenuine({ ...post, headers: {} }, { ...PROOF, key: null })).toBe(true);
  });

  it('is not with another password, none, or what is no basic authentication', async () => {
    const { authorization = '' } = post.headers;
    for (const other of [
      '',
      'Basic',
      'Basic ',
      basic(''),
      basic(POSTMARK_PASSWORD),
      basic('mailwright:'),
      basic('mailwright:other'),
      authorization.replace('Basic', 'Bearer'),
      `${authorization} x`,
      `Basic ${'A'.repeat(100_000)}`,
    ])
      expect(await isGenuine(authorizedBy(other), PROOF)).toBe(false);
    expect(await isGenuine({ ...post, headers: {} }, PROOF)).toBe(false);
  });
});
