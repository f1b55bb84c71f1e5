import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { BREVO_KEY, brevoEvent, brevoPost } from '#testing/relays/brevo';
import { proofBy, type TakenMail } from '#testing/relays/provider-sink';
import { brevoKind } from './brevo-kind.js';
import { UnreadableFeedbackError } from './kind.js';

const TOKEN = '019be3f0-4c11-7a62-9d0c-2f1a6b0f5c77.k3v9-x_Q+1';
const MAIL: TakenMail = {
  id: '202611230500.4711@smtp-relay.mailin.fr',
  to: 'ann@reader.example',
  raw: Buffer.from(`X-Mailin-custom: ${TOKEN}\r\n\r\nHello`),
};

const isGenuine = (authorization: string | undefined, key: string | null) =>
  brevoKind.feedback.isGenuine(
    { ...brevoPost({}), headers: { authorization } },
    { ...proofBy(BREVO_KEY), key },
  );
const basic = (credentials: string): string => `Basic ${Buffer.from(credentials).toString('base64')}`;
const read = (events: object) => brevoKind.feedback.read(brevoPost(events)).events;

describe('mail handed to Brevo', () => {
  it('goes to its relay with our token', () => {
    expect(brevoKind.endpoint({})).toEqual({ host: 'smtp-relay.brevo.com', port: 587, tls: 'REQUIRED' });
    expect(brevoKind.headersOf({ token: TOKEN, stream: 'TEST', options: {} })).toEqual([
      ['X-Mailin-custom', TOKEN],
    ]);
  });

  it('gets an id in the reply by which the events name it', () => {
    expect(brevoKind.messageIdOf(`2.0.0 OK: queued as <${MAIL.id}>`)).toBe(MAIL.id);
    expect(read(brevoEvent(MAIL, { kind: 'delivered' }))).toEqual([
      { kind: 'delivered', token: TOKEN, providerMessageId: MAIL.id, address: MAIL.to },
    ]);
    expect(brevoKind.messageIdOf('2.0.0 OK')).toBeNull();
  });
});

describe('a post of Brevo', () => {
  it('is proved by the password or the token that its owner set', async () => {
    expect(await isGenuine(brevoPost({}).headers['authorization'], BREVO_KEY)).toBe(true);
    expect(await isGenuine('bearer s3cret', 's3cret')).toBe(true);
    expect(await isGenuine(basic('ä:ö:ü'), 'ä:ö:ü')).toBe(true);
  });

  it('is refused with another one, with none, and when none is set', async () => {
    const wrong: [string | undefined, string | null][] = [
      [basic('brevo:3f9c1e'), 'brevo:3f9c1d'],
      [basic('brevo'), 'brevo:3f9c1d'],
      ['Bearer s3cre', 's3cret'],
      ['Bearer s3cret more', 's3cret'],
      ['Digest s3cret', 's3cret'],
      ['s3cret', 's3cret'],
      ['Bearer ', ''],
      [basic(''), ''],
      ['', 's3cret'],
      [undefined, 's3cret'],
      ['Bearer null', null],
    ];
    for (const [authorization, key] of wrong) expect(await isGenuine(authorization, key)).toBe(false);
  });
});

describe('the events of Brevo', () => {
  /** As documented at https://developers.brevo.com/docs/transactional-webhooks: which attributes each has; values of our own. */
  const documented = (event: string, more: object = {}) => ({
    event,
    email: 'bo@reader.example',
    id: 4_711,
    date: '2026-11-23 06:00:00',
    ts: 1_795_410_000,
    'message-id': '202611230500.4711@relay.shop.example',
    ts_event: 1_795_410_001,
    subject: 'Hello',
    'X-Mailin-custom': 'our.token-1',
    sending_ip: '192.0.2.1',
    template_id: 22,
    tags: ['spring'],
    ...more,
  });
  const named = {
    token: 'our.token-1',
    providerMessageId: '202611230500.4711@relay.shop.example',
    address: 'bo@reader.example',
  };
  const bounce = { kind: 'bounce', basicCode: null, enhancedCode: null, ...named };

  it.each([
    ['delivered', {}, { kind: 'delivered', ...named }],
    ['hard_bounce', { reason: 'server is down' }, { ...bounce, class: 'hard', excerpt: 'server is down' }],
    ['soft_bounce', { reason: 'server is odd' }, { ...bounce, class: 'unknown', excerpt: 'server is odd' }],
    ['soft_bounce', {}, { ...bounce, class: 'unknown', excerpt: null }],
    ['invalid_email', {}, { ...bounce, class: 'hard', excerpt: null }],
    ['blocked', {}, { ...bounce, class: 'unknown', excerpt: null }],
    ['blocked', { reason: 'blocked : due to unsubscribed user' }, { kind: 'unsubscribed', ...named }],
    [
      'blocked',
      { reason: 'blocked : due to blacklist user' },
      { ...bounce, class: 'policy', excerpt: 'blocked : due to blacklist user' },
    ],
    ['blocked', { reason: 'no such user' }, { ...bounce, class: 'unknown', excerpt: 'no such user' }],
    ['error', {}, { ...bounce, class: 'network', excerpt: null }],
    ['spam', {}, { kind: 'complaint', ...named }],
    ['complaint', {}, { kind: 'complaint', ...named }],
    ['unsubscribed', { tag: '["spring"]', device_used: 'MOBILE' }, { kind: 'unsubscribed', ...named }],
  ])('are read: %s', (event, more, expected) => {
    expect(read(documented(event, more))).toEqual([expected]);
  });

  it.each(['request', 'deferred', 'opened', 'unique_opened', 'click', 'proxy_open', 'list_addition'])(
    'that say nothing of a mail’s fate are left out: %s',
    (event) => {
      expect(read(documented(event, { reason: '550 5.1.1 No such user' }))).toEqual([]);
    },
  );

  it.each([
    ['hard_bounce', 'RecipientError: 550 5.1.1 No such user here', 'hard', 550, '5.1.1'],
    ['hard_bounce', ' RecipientError: 550 5.5.0 mailbox unavailable.', 'hard', 550, '5.5.0'],
    // "The mail server of the recipient has blocked the delivery" is a hard bounce too.
    ['hard_bounce', '554 5.7.1 Blocked using zen.spamhaus.org', 'policy', 554, '5.7.1'],
    ['soft_bounce', '552 5.2.2 Mailbox full', 'mailbox', 552, '5.2.2'],
    ['soft_bounce', '550 RecipientError: 550 5.1.1 User unknown', 'hard', 550, '5.1.1'],
    ['soft_bounce', 'undefined connection timed out', 'network', null, null],
    ['error', '550 Sender address rejected: not verified', 'sender', 550, null],
  ] as const)('tell of a %s with the words "%s": %s', (event, reason, expected, basicCode, enhancedCode) => {
    expect(read(documented(event, { reason }))).toEqual([
      expect.objectContaining({ class: expected, basicCode, enhancedCode, excerpt: reason.trim() }),
    ]);
  });

  it('come as a batch too, of which only what is none is lost', () => {
    const odd = { ...documented('hard_bounce'), email: 7, 'X-Mailin-custom': '{"meta": "of somebody else"}' };
    const spam = brevoEvent(MAIL, { kind: 'complaint' });
    const [first, ...others] = read([odd, null, 'event', {}, documented('blocked'), spam]);
    expect(first).toMatchObject({ kind: 'bounce', token: null, address: null });
    expect(others.map((event) => (event.kind === 'bounce' ? event.class : event.kind))).toEqual([
      'unknown',
      'complaint',
    ]);
  });
});

describe('a body that is none of Brevo’s', () => {
  const tooMany = JSON.stringify(Array.from({ length: 501 }, () => ({})));

  it.each([
    ['no event', '{"items":[]}'],
    ['too many events', tooMany],
  ])('is called unreadable: %s', (_, text) => {
    expect(() => brevoKind.feedback.read({ ...brevoPost({}), body: Buffer.from(text) })).toThrow(
      UnreadableFeedbackError,
    );
  });

  it('is never proved by words at random', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string({ minLength: 1 }), async (authorization, key) => {
        expect(await isGenuine(authorization, `${key}-set`)).toBe(false);
        expect(await isGenuine(`Bearer ${authorization}`, `${key}${authorization}`)).toBe(false);
      }),
    );
  });
});
