import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dkimSign } from 'mailauth/lib/dkim/sign.js';
import { ed25519Key } from '#testing/mail/dkim-keys';
import * as fc from '#testing/random/properties';
import { withstandsAnything } from '#testing/relays/hostile-feedback';
import {
  fieldsOf,
  type PostedFeedback,
  type ProviderEvent,
  type ProviderSink,
  RECEIVED_AT,
  type TakenMail,
} from '#testing/relays/provider-sink';
import { standIns } from '#testing/relays/stand-ins';
import { SmtpClient } from '#testing/mail/smtp-client';
import { CONSEQUENCES } from '../../bounces/bounce-class.js';
import { classifyRefusal, refusalOf } from '../../bounces/refusal.js';
import { verdicts } from '#testing/mail/dkim-verdicts';
import { RELAY_STREAMS, UnreadableFeedbackError } from './kind.js';
import { kindRules, RELAY_KINDS } from './kinds.js';

const TOKEN = '019be3f0-4c11-7a62-9d0c-2f1a6b0f5c77.k3v9-x_Q+1';
const TO = 'Ada@reader.example';
const MINUTE = 60_000;
const DOMAIN = 'shop.example';
const dkimKey = ed25519Key('mw1');
const signer = {
  signingDomain: DOMAIN,
  selector: dkimKey.selector,
  algorithm: dkimKey.algorithm,
  privateKey: dkimKey.privateKeyPem,
};
/** Header fields that our signer covers. */
const SIGNED = ['From', 'To', 'Subject', 'Date', 'Message-ID', 'List-Unsubscribe'];
const MESSAGE = [
  'From: News <news@shop.example>',
  `To: ${TO}`,
  'Subject: News',
  'Date: Mon, 23 Nov 2026 04:30:00 +0000',
  'Message-ID: <1@shop.example>',
  'List-Unsubscribe: <https://mail.shop.example/u/1>',
  '',
  'Hello',
  '',
].join('\r\n');

const bounced = (said: string): ProviderEvent => ({ kind: 'bounce', said });
const bounce = (bounceClass: string, basicCode: number, enhancedCode: string) =>
  expect.objectContaining({ kind: 'bounce', class: bounceClass, basicCode, enhancedCode });
const EVENTS: readonly [ProviderEvent, unknown][] = [
  [{ kind: 'delivered' }, expect.objectContaining({ kind: 'delivered' })],
  [{ kind: 'complaint' }, expect.objectContaining({ kind: 'complaint' })],
  [{ kind: 'unsubscribed' }, expect.objectContaining({ kind: 'unsubscribed' })],
  [bounced('550 5.1.1 No such user here'), bounce('hard', 550, '5.1.1')],
  [bounced('452 4.2.2 Mailbox full'), bounce('mailbox', 452, '4.2.2')],
  [bounced('554 5.7.1 Blocked using zen.spamhaus.org'), bounce('policy', 554, '5.7.1')],
];

describe.each(RELAY_KINDS)('a relay of kind %s', (kind) => {
  const rules = kindRules(kind);
  const standIn = standIns[kind];
  const { feedback } = rules;
  const { proof } = standIn;
  const headers = rules.headersOf({ token: TOKEN, stream: 'CAMPAIGN', options: {} });
  const given = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const isGenuine = async (request: PostedFeedback, key: string | null = proof.key) =>
    feedback.isGenuine(request, { ...proof, key });
  const withBody = (request: PostedFeedback, body: string | Buffer) => ({
    ...request,
    body: Buffer.from(body),
  });

  let provider: ProviderSink;
  let mail: TakenMail;
  let reply: string;

  const handOver = async (message: string): Promise<string> => {
    const client = await SmtpClient.open(provider.sink.port);
    const said = await client.send('b@shop.example', [TO], given + message);
    client.break('QUIT\r\n');
    return said;
  };
  const taken = (): TakenMail => {
    const last = provider.mails.at(-1);
    if (last === undefined) throw new Error(`The stand-in took no mail: ${reply}`);
    return last;
  };
  const posts = () => EVENTS.map(([event]) => standIn.post(standIn.eventOf(mail, event)));

  beforeAll(async () => {
    provider = await standIn.start();
    reply = await handOver(MESSAGE);
    mail = taken();
  });
  afterAll(() => provider.stop());

  describe('and the mail that it is given', () => {
    it('takes it with the fields that its provider wants, in lines that any server takes', () => {
      expect(reply).toMatch(/^250 /);
      for (const stream of RELAY_STREAMS) {
        const fields = rules.headersOf({ token: 'x'.repeat(64), stream, options: {} });
        for (const [name, value] of fields) expect(`${name}: ${value}`).toMatch(/^[\w-]+: [ -~]{1,900}$/);
      }
    });

    it('learns its id from the reply where that has it, and only from what is a reply to it', () => {
      const id = rules.messageIdOf(reply.slice(4));
      expect(id !== null).toBe(standIn.namesIdInReply);
      expect(id ?? mail.id).toBe(mail.id);
      for (const text of ['', 'OK', '2.0.0 Message accepted for delivery', 'x'.repeat(100_000)])
        expect(rules.messageIdOf(text)).toBeNull();
    });

    it('is asked again later when its provider throttles, and blames no address', async () => {
      provider.throttle(1);
      const said = await handOver(MESSAGE);
      expect(said).toMatch(/^4/);
      expect(rules.messageIdOf(said.slice(4))).toBeNull();
      expect(CONSEQUENCES[classifyRefusal(refusalOf(said, null))]).toMatchObject({
        address: 'keep',
        mayPass: true,
      });
      expect(await handOver(MESSAGE)).toMatch(/^250 /);
    });

    it('passes it on with our signature whole, unless it says that it lets none through', async () => {
      const signed = async (covered: readonly string[]) => {
        const { signatures } = await dkimSign(MESSAGE, {
          ...signer,
          signatureData: [signer],
          canonicalization: 'relaxed/relaxed',
          headerList: [...covered],
        });
        await handOver(signatures + MESSAGE);
        const passedOn = standIn.passedOn(taken(), RECEIVED_AT);
        const [first] = await verdicts(passedOn, DOMAIN, [dkimKey]);
        return first?.split(' ')[1];
      };
      const kept = SIGNED.filter((name) => !rules.replacedHeaders.includes(name.toLowerCase()));
      const holds = rules.signs !== 'ALWAYS';
      expect((await signed(kept)) === 'pass').toBe(holds);
      expect((await signed(SIGNED)) === 'pass').toBe(holds && kept.length === SIGNED.length);
    });

    it('changes no other field than those that are not signed for it', () => {
      const passedOn = standIn.passedOn(mail, RECEIVED_AT);
      const changed = SIGNED.filter(
        (name) => fieldsOf(passedOn, name).join() !== fieldsOf(mail.raw, name).join(),
      ).map((name) => name.toLowerCase());
      expect(changed).toEqual(
        SIGNED.map((name) => name.toLowerCase()).filter((name) => rules.replacedHeaders.includes(name)),
      );
    });
  });

  describe('and what its provider says', () => {
    it.each(EVENTS)('is genuine, and read with our token and the id: %j', async (event, fact) => {
      const request = standIn.post(standIn.eventOf(mail, event));
      expect(await isGenuine(request)).toBe(true);
      const { events } = feedback.read(request);
      expect(events).toEqual([fact]);
      expect(events).toMatchObject([{ token: headers.length === 0 ? null : TOKEN, address: TO }]);
      const id = rules.messageIdOf(reply.slice(4));
      expect([null, events[0]?.providerMessageId]).toContain(id);
      expect(events[0]?.providerMessageId).toEqual(expect.any(String));
    });

    it('is nothing while it tries on', async () => {
      const request = standIn.post(standIn.eventOf(mail, { kind: 'deferred' }));
      expect(await isGenuine(request)).toBe(true);
      expect(feedback.read(request).events).toEqual([]);
    });

    it('is read as far as is kept where the words of a server have no end', () => {
      const long = '550 5.1.1 No such user here '.repeat(20_000);
      const request = standIn.post(standIn.eventOf(mail, bounced(long)));
      for (const event of feedback.read(request).events)
        expect(event).toMatchObject({ class: 'hard', excerpt: expect.stringMatching(/^.{1,500}$/) });
    });

    it('reads the same twice, and in any order', () => {
      const requests = posts();
      const first = requests.map((request) => feedback.read(request));
      const again = requests.toReversed().map((request) => feedback.read(request));
      expect(again.toReversed()).toEqual(first);
    });

    it('is not genuine with the key of another, or, where a key is its only proof, without one', async () => {
      const event = standIn.eventOf(mail, { kind: 'complaint' });
      expect(await isGenuine(standIn.post(event), standIn.otherKey)).toBe(false);
      expect(await isGenuine(standIn.post(event, { key: standIn.otherKey }))).toBe(false);
      expect(await isGenuine(standIn.post(event), null)).toBe(!standIn.needsKey);
    });

    it('is not genuine without one of the header fields that prove it', async () => {
      const ofAll = ['content-type', 'user-agent', 'x-amz-sns-message-type'];
      for (const request of posts())
        for (const name of Object.keys(request.headers).filter((each) => !ofAll.includes(each)))
          for (const value of [undefined, '', `x${request.headers[name]}`])
            expect(
              await feedback.isGenuine({ ...request, headers: { ...request.headers, [name]: value } }, proof),
            ).toBe(false);
    });

    it('reads as it was posted when it is still genuine after a change to it', async () => {
      const requests = standIn.proves === 'EVENTS' ? posts() : [];
      const change = fc.tuple(fc.nat(), fc.integer({ min: 1, max: 127 }));
      for (const request of requests) {
        const asPosted = feedback.read(request);
        await fc.assert(
          fc.asyncProperty(change, async ([place, other]) => {
            const body = Buffer.from(request.body);
            const at = place % body.length;
            body[at] = (body[at] ?? 0) ^ other;
            const changed = { ...request, body };
            // An address of the certificate that is another of SNS's, where there is none.
            const genuine = await isGenuine(changed).catch(() => false);
            expect(genuine ? feedback.read(changed) : asPosted).toEqual(asPosted);
          }),
        );
      }
    });

    it('counts once where its signature is not of its events', () => {
      for (const request of posts())
        expect(feedback.read(request).onceToken !== undefined).toBe(standIn.proves === 'REQUEST');
    });

    it('is taken as long as it may come, and not from the future', async () => {
      const { maxAgeMs } = standIn;
      const at = (ageMs: number) => {
        const signedAt = new Date(RECEIVED_AT.getTime() - ageMs);
        return isGenuine(standIn.post(standIn.eventOf(mail, { kind: 'delivered' }), { signedAt }));
      };
      const hasBound = maxAgeMs !== null;
      expect(await at((maxAgeMs ?? 0) - MINUTE / 2)).toBe(true);
      expect(await at((maxAgeMs ?? 0) + MINUTE)).toBe(!hasBound);
      expect(await at(-4 * MINUTE)).toBe(true);
      expect(await at(-10 * MINUTE)).toBe(!hasBound);
    });
  });

  describe('and a body that is none of its provider’s', () => {
    const size = 1_000_000;
    const many = (item: string) => `[${Array.from({ length: size / (item.length + 1) }, () => item).join()}]`;

    it.each([
      ['nothing', ''],
      ['no JSON', 'event=bounce'],
      ['half of it', '{"events":[{"type":"bou'],
      ['null', 'null'],
      ['a number', '7'],
      ['a text', JSON.stringify('x'.repeat(size))],
      ['an empty object', '{}'],
      ['lists in lists', '['.repeat(size)],
      ['objects in objects', '{"event-data":'.repeat(60_000)],
      ['very many empty objects', many('{}')],
      ['very many empty events', `{"events":${many('{}')}}`],
    ])('is not genuine, and unreadable: %s', async (_, text) => {
      const request = withBody({ ...standIn.post({}), headers: {} }, text);
      expect(await isGenuine(request)).toBe(false);
      expect(() => feedback.read(request)).toThrow(UnreadableFeedbackError);
    });

    it('is read or refused, and never more, whatever it is', () =>
      withstandsAnything(feedback, proof, posts()));
  });
});
