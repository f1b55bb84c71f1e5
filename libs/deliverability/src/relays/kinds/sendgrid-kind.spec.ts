import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { proofBy, SIGNED_AT, type TakenMail } from '#testing/relays/provider-sink';
import { SENDGRID_KEY, sendgridEvent, sendgridKey, sendgridPost } from '#testing/relays/sendgrid';
import { type FeedbackProof, type FeedbackRequest, UnreadableFeedbackError } from './kind.js';
import { sendgridKind } from './sendgrid-kind.js';

const TOKEN = '019be3f0-4c11-7a62-9d0c-2f1a6b0f5c77.k3v9-x_Q+1';
const [header = []] = sendgridKind.headersOf({ token: TOKEN, stream: 'CAMPAIGN', options: {} });
const MAIL: TakenMail = {
  id: 'Yo60h6C5ScGPeP5fUWU3K',
  to: 'ann@reader.example',
  raw: Buffer.from(`${header.join(': ')}\r\n\r\nHello`),
};

const proof = (key: string | null = SENDGRID_KEY): FeedbackProof => ({ ...proofBy(SENDGRID_KEY), key });
const withHeader = (request: FeedbackRequest, name: string, value: string | undefined): FeedbackRequest => ({
  ...request,
  headers: { ...request.headers, [`x-twilio-email-event-webhook-${name}`]: value },
});
const bodyOf = (text: string): FeedbackRequest => ({ ...sendgridPost([]), body: Buffer.from(text) });
const read = (...events: readonly unknown[]) => sendgridKind.feedback.read(sendgridPost(events)).events;
const facts = (...events: readonly unknown[]) =>
  read(...events).map((event) => (event.kind === 'bounce' ? event.class : event.kind));

describe('mail handed to SendGrid', () => {
  it('goes to its host for all, or for the European Union, and to none that we do not know', () => {
    expect(sendgridKind.endpoint({})).toEqual({ host: 'smtp.sendgrid.net', port: 587, tls: 'REQUIRED' });
    expect(sendgridKind.endpoint({ region: 'eu' })?.host).toBe('smtp.eu.sendgrid.net');
    expect(sendgridKind.endpoint({ region: 'global' })?.host).toBe('smtp.sendgrid.net');
    expect(sendgridKind.endpoint({ region: 'mars' })).toBeNull();
    expect(sendgridKind.endpoint({ region: 'constructor' })).toBeNull();
  });

  it('carries our token and switches its tracking off, in one line that is short enough', () => {
    const [[name, value] = ['', '']] = sendgridKind.headersOf({
      token: 'x'.repeat(64),
      stream: 'OPT_IN',
      options: {},
    });
    expect(name).toBe('X-SMTPAPI');
    expect(`${name}: ${value}`.length).toBeLessThan(500);
    const off = { settings: { enable: 0 } };
    expect(JSON.parse(value)).toMatchObject({ filters: { clicktrack: off, opentrack: off, footer: off } });
  });

  it('gets an id in the reply by which the events name it', () => {
    expect(sendgridKind.messageIdOf(`Ok: queued as ${MAIL.id}`)).toBe(MAIL.id);
    expect(read(sendgridEvent(MAIL, { kind: 'delivered' }))).toEqual([
      { kind: 'delivered', token: TOKEN, providerMessageId: MAIL.id, address: MAIL.to },
    ]);
    expect(sendgridKind.messageIdOf('Ok')).toBeNull();
  });
});

describe('a post of SendGrid', () => {
  it('is proved by its signature', async () => {
    const request = sendgridPost(sendgridEvent(MAIL, { kind: 'delivered' }));
    expect(await sendgridKind.feedback.isGenuine(request, proof())).toBe(true);
  });

  it('is refused when it was changed, or signed with another key, or not signed, or nobody gave the key', async () => {
    const request = sendgridPost(sendgridEvent(MAIL, { kind: 'complaint' }));
    const other = sendgridKey();
    const ed25519 = generateKeyPairSync('ed25519').publicKey;
    const unfit = ed25519.export({ format: 'der', type: 'spki' }).toString('base64');
    const wrong: [FeedbackRequest, string | null][] = [
      [{ ...request, body: Buffer.concat([request.body, Buffer.from(' ')]) }, SENDGRID_KEY],
      [withHeader(request, 'timestamp', String(SIGNED_AT.getTime() / 1_000 + 1)), SENDGRID_KEY],
      [withHeader(request, 'timestamp', undefined), SENDGRID_KEY],
      [withHeader(request, 'timestamp', 'now'), SENDGRID_KEY],
      [withHeader(request, 'signature', undefined), SENDGRID_KEY],
      [withHeader(request, 'signature', '!'), SENDGRID_KEY],
      [withHeader(request, 'signature', 'AAAA'), SENDGRID_KEY],
      [request, other],
      [request, unfit],
      [request, 'no key'],
      [request, ''],
      [request, null],
    ];
    for (const [tried, key] of wrong)
      expect(await sendgridKind.feedback.isGenuine(tried, proof(key))).toBe(false);
  });
});

describe('the events of SendGrid', () => {
  /** As documented at …/docs/sendgrid/for-developers/tracking-events/event: which properties each has; values of our own. */
  const documented = (event: string, more: object = {}) => ({
    email: 'bo@reader.example',
    timestamp: 1_795_410_000,
    'smtp-id': '<2@shop.example>',
    event,
    category: ['spring'],
    sg_event_id: 'Zm9yIG9uZSBldmVudA==',
    sg_message_id: 'Q2F0cyBhcmUgbmljZSE_-w.filter0001.16648.5515E0B88.0',
    ...more,
  });
  const named = { token: null, providerMessageId: 'Q2F0cyBhcmUgbmljZSE_-w', address: 'bo@reader.example' };

  it('are read one by one, and those that say nothing of a mail’s fate are left out', () => {
    const all = [
      documented('processed'),
      documented('deferred', { response: '400 try again later', attempt: '5' }),
      documented('delivered', { response: '250 OK' }),
      documented('open', { useragent: 'Mozilla/4.0', ip: '192.0.2.1' }),
      documented('click', { useragent: 'Mozilla/4.0', ip: '192.0.2.1', url: 'https://shop.example' }),
      documented('bounce', { reason: '500 unknown recipient', status: '5.0.0', type: 'bounce' }),
      documented('dropped', { reason: 'Bounced Address', status: '5.0.0' }),
      documented('spamreport'),
      documented('unsubscribe'),
      documented('group_unsubscribe', { asm_group_id: 10 }),
      documented('group_resubscribe', { asm_group_id: 10 }),
      documented('account_status_change', { type: 'compliance_suspend' }),
    ];
    expect(read(...all)).toEqual([
      { kind: 'delivered', ...named },
      {
        kind: 'bounce',
        class: 'hard',
        basicCode: 500,
        enhancedCode: '5.0.0',
        excerpt: '500 unknown recipient',
        ...named,
      },
      {
        kind: 'bounce',
        class: 'hard',
        basicCode: null,
        enhancedCode: null,
        excerpt: 'Bounced Address',
        ...named,
      },
      { kind: 'complaint', ...named },
      { kind: 'unsubscribed', ...named },
      { kind: 'unsubscribed', ...named },
    ]);
  });

  it.each([
    ['550 5.1.1 No such user here', 'Invalid Address', 'bounce', 'hard'],
    ['552 5.2.2 Mailbox full', 'Mailbox Unavailable', 'blocked', 'mailbox'],
    ['550 5.7.1 Blocked using zen.spamhaus.org', 'Reputation', 'blocked', 'policy'],
    ['550 5.7.26 This mail is unauthenticated: SPF and DKIM did not pass', 'Reputation', 'blocked', 'sender'],
    // The words tell nothing.
    ['554 ERROR: Mail refused', 'Content', 'blocked', 'content'],
    ['554 ERROR: Mail refused', 'Invalid Address', 'bounce', 'hard'],
    ['', 'Technical Failure', 'blocked', 'network'],
    ['Delayed Bounce - Unable to Parse Server Reason', 'Unclassified', 'bounce', 'unknown'],
    // Nor does a classification that is new or missing.
    ['Mail refused', 'toString', 'bounce', 'hard'],
    ['Mail refused', '', 'blocked', 'unknown'],
    // A block is no word on the address.
    ['500 unknown recipient', '', 'blocked', 'mailbox'],
    ['', 'Invalid Address', 'blocked', 'mailbox'],
  ] as const)('tell of "%s" (%s, %s): %s', (reason, classification, type, expected) => {
    expect(
      facts(documented('bounce', { reason, bounce_classification: classification, type, status: '' })),
    ).toEqual([expected]);
  });

  it('tell by its reason what a dropped mail says of its address', () => {
    const dropped = (reason: string) => documented('dropped', { reason, status: '5.0.0' });
    const reasons = ['Bounced Address', 'Invalid', 'Spam Reporting Address', 'Unsubscribed Address'];
    expect(facts(...reasons.map(dropped))).toEqual(['hard', 'hard', 'complaint', 'unsubscribed']);
    const ours = [
      'Spam Content',
      'Invalid SMTPAPI header',
      'Recipient List over Package Quota',
      'constructor',
    ];
    expect(facts(...ours.map(dropped))).toEqual(['content', 'sender', 'sender', 'unknown']);
  });

  it('take a status that is a basic code, as SendGrid also sends it', () => {
    expect(read(documented('bounce', { reason: 'Too many recipients.', status: '550' }))).toEqual([
      expect.objectContaining({ class: 'policy', basicCode: 550, enhancedCode: null }),
    ]);
  });

  it('lose only what is none, not the others', () => {
    const odd = {
      event: 'bounce',
      email: 7,
      sg_message_id: '.filter',
      mailwright: 7,
      reason: '550',
      status: null,
    };
    const last = sendgridEvent(MAIL, { kind: 'delivered' });
    const [first, ...others] = read(odd, 'no event', null, { event: 1 }, [], last);
    expect(first).toMatchObject({ token: null, providerMessageId: null, address: null, basicCode: 550 });
    expect(others).toHaveLength(1);
  });
});

describe('a body that is none of SendGrid’s', () => {
  const tooMany = JSON.stringify(Array.from({ length: 5_001 }, () => ({})));

  it.each([
    ['an object', '{}'],
    ['too many events', tooMany],
  ])('is called unreadable: %s', (_, text) => {
    expect(() => sendgridKind.feedback.read(bodyOf(text))).toThrow(UnreadableFeedbackError);
  });

  it('is never proved by signatures and keys at random', async () => {
    const text = fc.oneof(fc.string(), fc.base64String(), fc.constant(SENDGRID_KEY));
    await fc.assert(
      fc.asyncProperty(text, text, text, async (signature, timestamp, key) => {
        const signed = withHeader(withHeader(bodyOf('[]'), 'signature', signature), 'timestamp', timestamp);
        expect(await sendgridKind.feedback.isGenuine(signed, proof(key))).toBe(false);
        const recent = withHeader(signed, 'timestamp', String(SIGNED_AT.getTime() / 1_000));
        expect(await sendgridKind.feedback.isGenuine(recent, proof(key))).toBe(false);
      }),
    );
  });
});
