import { describe, expect, it } from '@jest/globals';
import { webhookHeaders } from '#platform';
import * as fc from '#testing/random/properties';
import { GENERIC_KEY, genericEvent, genericPost } from '#testing/relays/generic';
import { proofBy, SIGNED_AT, type TakenMail } from '#testing/relays/provider-sink';
import { type FeedbackRequest, UnreadableFeedbackError } from './kind.js';
import { smtpKind } from './smtp-kind.js';

const MAIL: TakenMail = { id: '4dF3vN0bqzz1k', to: 'ann@reader.example', raw: Buffer.from('\r\nHello') };

const isGenuine = (request: FeedbackRequest, key: string | null = GENERIC_KEY) =>
  smtpKind.feedback.isGenuine(request, { ...proofBy(GENERIC_KEY), key });
const withHeader = (request: FeedbackRequest, name: string, value: string | undefined): FeedbackRequest => ({
  ...request,
  headers: { ...request.headers, [`webhook-${name}`]: value },
});
const bodyOf = (text: string): FeedbackRequest => ({ ...genericPost([]), body: Buffer.from(text) });
const read = (...events: readonly unknown[]) =>
  smtpKind.feedback.read(bodyOf(JSON.stringify({ events, version: 1 }))).events;

describe('mail handed to a relay of one’s own', () => {
  it('gets an id in the reply by which a reader of its log can name it', () => {
    expect(smtpKind.messageIdOf(`2.0.0 Ok: queued as ${MAIL.id}`)).toBe(MAIL.id);
    expect(read(genericEvent(MAIL, { kind: 'delivered' }))).toEqual([
      { kind: 'delivered', token: null, providerMessageId: MAIL.id, address: MAIL.to },
    ]);
    expect(smtpKind.messageIdOf('OK id=1tEQk2-0000000A1bC-3dEf')).toBe('1tEQk2-0000000A1bC-3dEf');
    expect(smtpKind.messageIdOf('2.0.0 Message accepted for delivery')).toBeNull();
  });
});

describe('a post of events', () => {
  it('is proved by the signature that libraries of Standard Webhooks make', async () => {
    expect(await isGenuine(genericPost(genericEvent(MAIL, { kind: 'delivered' })))).toBe(true);
  });

  it('is proved by one signature of several, while the secret is changed over', async () => {
    const { body, receivedAt } = genericPost(genericEvent(MAIL, { kind: 'delivered' }));
    const keys = [`whsec_${Buffer.from('another').toString('base64')}`, GENERIC_KEY];
    const headers = webhookHeaders(keys, { id: 'msg_1', at: SIGNED_AT, body: body.toString() });
    expect(await isGenuine({ headers, body, receivedAt })).toBe(true);
  });

  it('is refused when it was changed, or signed with another key, or not signed, or nobody gave the key', async () => {
    const request = genericPost(genericEvent(MAIL, { kind: 'complaint' }));
    const signature = request.headers['webhook-signature'] ?? '';
    const unnamed = webhookHeaders([GENERIC_KEY], { id: '', at: SIGNED_AT, body: request.body.toString() });
    const wrong: [FeedbackRequest, string | null][] = [
      [{ ...request, headers: unnamed }, GENERIC_KEY],
      [{ ...request, body: Buffer.concat([request.body, Buffer.from(' ')]) }, GENERIC_KEY],
      [withHeader(request, 'id', 'msg_2'), GENERIC_KEY],
      [withHeader(request, 'id', undefined), GENERIC_KEY],
      [withHeader(request, 'timestamp', String(SIGNED_AT.getTime() / 1_000 + 1)), GENERIC_KEY],
      [withHeader(request, 'timestamp', undefined), GENERIC_KEY],
      [withHeader(request, 'timestamp', 'now'), GENERIC_KEY],
      [withHeader(request, 'signature', undefined), GENERIC_KEY],
      [withHeader(request, 'signature', signature.replace('v1,', 'v1a,')), GENERIC_KEY],
      [withHeader(request, 'signature', signature.replace('v1,', '')), GENERIC_KEY],
      [withHeader(request, 'signature', signature.slice(0, 20)), GENERIC_KEY],
      [withHeader(request, 'signature', 'v1,'), GENERIC_KEY],
      [request, `whsec_${Buffer.from('another').toString('base64')}`],
      [request, 'no base64!'],
      [request, 'whsec_'],
      [request, ''],
      [request, null],
    ];
    for (const [tried, key] of wrong) expect(await isGenuine(tried, key)).toBe(false);
  });
});

describe('the events of a post', () => {
  const named = { token: 'our.token-1', messageId: '4dF3vN0bqzz1k', address: 'bo@reader.example' };
  const known = {
    token: 'our.token-1',
    providerMessageId: '4dF3vN0bqzz1k',
    address: 'bo@reader.example',
  };

  it('are read with all that they may have, and with nothing but a type', () => {
    const bounce = {
      type: 'bounce',
      ...named,
      smtpCode: 550,
      enhancedCode: '5.1.1',
      detail: 'No such user',
      permanent: true,
      at: '2026-11-23T05:00:00Z',
    };
    expect(read(bounce, { type: 'complaint', ...named }, { type: 'unsubscribed', token: 't' })).toEqual([
      {
        kind: 'bounce',
        class: 'hard',
        basicCode: 550,
        enhancedCode: '5.1.1',
        excerpt: 'No such user',
        ...known,
      },
      { kind: 'complaint', ...known },
      { kind: 'unsubscribed', token: 't', providerMessageId: null, address: null },
    ]);
    const nothing = { basicCode: null, enhancedCode: null, excerpt: null };
    expect(read({ type: 'bounce' })).toEqual([expect.objectContaining({ class: 'unknown', ...nothing })]);
  });

  it.each([
    [{ smtpCode: 550, detail: 'No such user here' }, 'hard'],
    [{ detail: '550 5.1.1 No such user here' }, 'hard'],
    [{ detail: 'host mx.reader.example[192.0.2.1] said: 552 5.2.2 Mailbox full' }, 'mailbox'],
    [{ enhancedCode: '5.1.1' }, 'hard'],
    [{ detail: '554 5.7.1 Blocked using zen.spamhaus.org', permanent: true }, 'policy'],
    [{ detail: 'gone', permanent: true }, 'hard'],
    [{ detail: 'gone', permanent: false }, 'unknown'],
    [{ detail: 'gone', permanent: 'true' }, 'unknown'],
    [{ smtpCode: '550', enhancedCode: 'five', detail: 7 }, 'unknown'],
    [{ smtpCode: 250 }, 'unknown'],
  ])('tell of %j: %s', (bounce, expected) => {
    expect(read({ type: 'bounce', ...bounce })).toEqual([expect.objectContaining({ class: expected })]);
  });

  it('lose only what is none, not the others', () => {
    const odd = { type: 'bounce', token: 'not a token', address: 'a\r\nb@reader.example', detail: '550 no' };
    const last = genericEvent(MAIL, { kind: 'unsubscribed' });
    const [first, ...others] = read(odd, null, 'event', {}, { type: 'opened' }, last);
    expect(first).toMatchObject({ token: null, providerMessageId: null, address: null, basicCode: 550 });
    expect(others.map(({ kind }) => kind)).toEqual(['unsubscribed']);
  });
});

describe('a body that holds no events', () => {
  const tooMany = JSON.stringify({ events: Array.from({ length: 501 }, () => ({})) });

  it.each([
    ['an array', '[]'],
    ['no events', '{"event":{}}'],
    ['too many events', tooMany],
  ])('is called unreadable: %s', (_, text) => {
    expect(() => smtpKind.feedback.read(bodyOf(text))).toThrow(UnreadableFeedbackError);
  });

  it('is never proved by signatures and keys at random', async () => {
    const text = fc.oneof(fc.string(), fc.base64String());
    await fc.assert(
      fc.asyncProperty(text, text, text, async (id, signature, key) => {
        const named = withHeader(bodyOf('{}'), 'id', id);
        const timed = withHeader(named, 'timestamp', String(SIGNED_AT.getTime() / 1_000));
        for (const tried of [signature, `v1,${signature}`])
          expect(await isGenuine(withHeader(timed, 'signature', tried), key)).toBe(false);
      }),
    );
  });
});
