import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { webhookHeaders } from '#platform';
import * as fc from '#testing/properties';
import { GenericStandIn } from '#testing/relays/generic';
import type { ReceivedMail } from '#testing/sink-rules';
import { SmtpClient } from '#testing/smtp-client';
import { type FeedbackRequest, UnreadableFeedbackError } from '../feedback.js';
import { genericFeedback } from './generic-feedback.js';
import { smtpKind } from './smtp-kind.js';

const NOW = new Date('2026-11-23T05:00:00Z');
const MINUTE = 60_000;

let relay: GenericStandIn;
let mail: ReceivedMail;
let reply: string;

beforeAll(async () => {
  relay = await GenericStandIn.start();
  const client = await SmtpClient.open(relay.sink.port);
  relay.throttle(1);
  expect(await client.send('b@shop.example', ['ann@reader.example'], 'Hello')).toMatch(/^450 /);
  reply = await client.send('b@shop.example', ['ann@reader.example'], 'Hello');
  client.break('QUIT\r\n');
  const taken = relay.sink.messages[0];
  if (taken === undefined) throw new Error(`The stand-in took no mail: ${reply}`);
  mail = taken;
});
afterAll(() => relay.sink.stop());

const isGenuine = (request: FeedbackRequest, key: string | null = relay.key): Promise<boolean> =>
  genericFeedback.isGenuine(request, {
    key,
    fetchText: () => Promise.reject(new Error('There is no document.')),
  });
const withHeader = (request: FeedbackRequest, name: string, value: string | undefined): FeedbackRequest => ({
  ...request,
  headers: { ...request.headers, [`webhook-${name}`]: value },
});
const bodyOf = (text: string): FeedbackRequest => ({
  headers: {},
  body: Buffer.from(text),
  receivedAt: NOW,
});
const read = (...events: readonly unknown[]) =>
  genericFeedback.read(bodyOf(JSON.stringify({ events, version: 1 }))).events;

describe('mail handed to a relay of one’s own', () => {
  it('gets an id in the reply by which a reader of its log can name it', () => {
    const id = smtpKind.messageIdOf(reply);
    expect(id).toMatch(/^4dF3vN/);
    expect(read(relay.delivered(mail))).toEqual([
      { kind: 'delivered', token: null, providerMessageId: id, address: 'ann@reader.example' },
    ]);
    expect(smtpKind.messageIdOf('OK id=1tEQk2-0000000A1bC-3dEf')).toBe('1tEQk2-0000000A1bC-3dEf');
    expect(smtpKind.messageIdOf('2.0.0 Message accepted for delivery')).toBeNull();
  });
});

describe('a post of events', () => {
  it('is proved by the signature that libraries of Standard Webhooks make', async () => {
    expect(await isGenuine(relay.post([relay.delivered(mail)], NOW))).toBe(true);
  });

  it('is proved by one signature of several, while the secret is changed over', async () => {
    const { body } = relay.post([relay.delivered(mail)], NOW);
    const keys = [`whsec_${Buffer.from('another').toString('base64')}`, relay.key];
    const headers = webhookHeaders(keys, { id: 'msg_1', at: NOW, body: body.toString() });
    expect(await isGenuine({ headers, body, receivedAt: NOW })).toBe(true);
  });

  it('is refused when it was changed, or signed with another key, or not signed, or nobody gave the key', async () => {
    const request = relay.post([relay.complained(mail)], NOW);
    const signature = request.headers['webhook-signature'] ?? '';
    const unnamed = webhookHeaders([relay.key], { id: '', at: NOW, body: request.body.toString() });
    const wrong: [FeedbackRequest, string | null][] = [
      [{ ...request, headers: unnamed }, relay.key],
      [{ ...request, body: Buffer.concat([request.body, Buffer.from(' ')]) }, relay.key],
      [withHeader(request, 'id', 'msg_2'), relay.key],
      [withHeader(request, 'id', undefined), relay.key],
      [withHeader(request, 'timestamp', String(NOW.getTime() / 1_000 + 1)), relay.key],
      [withHeader(request, 'timestamp', undefined), relay.key],
      [withHeader(request, 'timestamp', 'now'), relay.key],
      [withHeader(request, 'signature', undefined), relay.key],
      [withHeader(request, 'signature', signature.replace('v1,', 'v1a,')), relay.key],
      [withHeader(request, 'signature', signature.replace('v1,', '')), relay.key],
      [withHeader(request, 'signature', signature.slice(0, 20)), relay.key],
      [withHeader(request, 'signature', 'v1,'), relay.key],
      [request, `whsec_${Buffer.from('another').toString('base64')}`],
      [request, 'no base64!'],
      [request, 'whsec_'],
      [request, ''],
      [request, null],
    ];
    for (const [tried, key] of wrong) expect(await isGenuine(tried, key)).toBe(false);
  });

  it('is taken for five minutes, and neither later nor from the future', async () => {
    const request = relay.post([relay.delivered(mail)], NOW);
    const at = (ms: number) => isGenuine({ ...request, receivedAt: new Date(NOW.getTime() + ms) });
    expect([await at(4 * MINUTE), await at(6 * MINUTE)]).toEqual([true, false]);
    expect([await at(-4 * MINUTE), await at(-6 * MINUTE)]).toEqual([true, false]);
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

  it('lose only what is wrong or too long, not the others', () => {
    const odd = {
      type: 'bounce',
      token: 'not a token',
      messageId: 'x'.repeat(300),
      address: 'a\r\nb@reader.example',
      detail: `550 \0x${'😀'.repeat(900)}`,
    };
    const [first, ...others] = read(odd, null, 'event', {}, { type: 'opened' }, relay.unsubscribed(mail));
    expect(first).toMatchObject({ token: null, providerMessageId: null, address: null, basicCode: 550 });
    expect(first).toHaveProperty('excerpt', `550 x${'😀'.repeat(247)}\ufffd`);
    expect(others.map(({ kind }) => kind)).toEqual(['unsubscribed']);
  });
});

describe('a body that holds no events', () => {
  const tooMany = JSON.stringify({ events: Array.from({ length: 2_001 }, () => ({})) });

  it.each([
    ['no JSON', 'type=bounce'],
    ['nothing', ''],
    ['an array', '[]'],
    ['no events', '{"event":{}}'],
    ['null', 'null'],
    ['too many events', tooMany],
  ])('is called unreadable: %s', (_, text) => {
    expect(() => genericFeedback.read(bodyOf(text))).toThrow(UnreadableFeedbackError);
  });

  it('does no harm, whatever octets or values it holds', () => {
    const values = fc
      .json()
      .map(
        (text) =>
          `{"events":[${text},{"type":"bounce","detail":${text},"smtpCode":${text},"token":${text}}]}`,
      );
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.oneof(fc.json(), values).map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(bodies, (body) => {
        try {
          expect(Array.isArray(genericFeedback.read({ ...bodyOf(''), body }).events)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(UnreadableFeedbackError);
        }
      }),
    );
  });

  it('is never proved by signatures and keys at random', async () => {
    const text = fc.oneof(fc.string(), fc.base64String());
    await fc.assert(
      fc.asyncProperty(text, text, text, async (id, signature, key) => {
        const named = withHeader(bodyOf('{}'), 'id', id);
        const timed = withHeader(named, 'timestamp', String(NOW.getTime() / 1_000));
        for (const tried of [signature, `v1,${signature}`])
          expect(await isGenuine(withHeader(timed, 'signature', tried), key)).toBe(false);
      }),
    );
  });
});
