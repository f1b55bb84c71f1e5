import { describe, expect, it } from '@jest/globals';
import { MAILGUN_KEY, mailgunEvent, mailgunPost } from '#testing/relays/mailgun';
import { proofBy, type TakenMail } from '#testing/relays/provider-sink';
import { type FeedbackFormat, UnreadableFeedbackError } from './kind.js';
import { mailgunKind } from './mailgun-kind.js';

const TOKEN = 'b+abc.def-G_7';
const { feedback } = mailgunKind;
const isGenuine: FeedbackFormat['isGenuine'] = (request, proof) => feedback.isGenuine(request, proof);
const read: FeedbackFormat['read'] = (request) => feedback.read(request);

const headers = mailgunKind.headersOf({ token: TOKEN, stream: 'CAMPAIGN', options: {} });
const raw = [
  ...headers.map(([name, value]) => `${name}: ${value}`),
  'Message-ID: <1@shop.example>',
  '',
  'Hello',
].join('\r\n');
const MAIL: TakenMail = { id: 'ncV2XwymRUKbPek_MIM-Gw', to: 'Ada@example.com', raw: Buffer.from(raw) };
const ABOUT = { token: TOKEN, providerMessageId: '1@shop.example', address: 'Ada@example.com' };
const PROOF = proofBy(MAILGUN_KEY);

const eventsOf = (event: object) => read(mailgunPost(event)).events;

describe('Mailgun as a relay', () => {
  it('is reached in the US, or in the EU where its region is that', () => {
    expect(mailgunKind.endpoint({})).toEqual({ host: 'smtp.mailgun.org', port: 587, tls: 'REQUIRED' });
    expect(mailgunKind.endpoint({ region: 'US' })?.host).toBe('smtp.mailgun.org');
    expect(mailgunKind.endpoint({ region: 'eu' })?.host).toBe('smtp.eu.mailgun.org');
    expect(mailgunKind.endpoint({ region: 'constructor' })).toBeNull();
  });

  it('gives back our token, and counts no opens and clicks', () => {
    expect(headers).toEqual([
      ['X-Mailgun-Variables', `{"mailwright":"${TOKEN}"}`],
      ['X-Mailgun-Track', 'no'],
    ]);
  });
});

describe('what Mailgun tells', () => {
  it('names our Message-ID, since its reply names no id', () => {
    expect(mailgunKind.messageIdOf('Great success')).toBeNull();
    expect(eventsOf(mailgunEvent(MAIL, { kind: 'delivered' }))).toEqual([{ kind: 'delivered', ...ABOUT }]);
  });

  it('is a bounce of the class that the codes and words of the server have', () => {
    expect(eventsOf(mailgunEvent(MAIL, { kind: 'bounce', said: '550 5.1.1 No such user' }))).toEqual([
      {
        kind: 'bounce',
        class: 'hard',
        basicCode: 550,
        enhancedCode: '5.1.1',
        excerpt: '5.1.1 No such user',
        ...ABOUT,
      },
    ]);
    const blocked = '554 5.7.1 Service unavailable; blocked using zen.spamhaus.org';
    expect(eventsOf(mailgunEvent(MAIL, { kind: 'bounce', said: blocked }))).toMatchObject([
      { class: 'policy' },
    ]);
  });

  const failed = (fields: object) =>
    eventsOf({ event: 'failed', severity: 'permanent', recipient: 'ada@example.com', ...fields });

  // “Failed (Permanent, Delayed Bounce)” of the event structure: the codes are in the words and in two fields.
  it('is a bounce that came back later, too', () => {
    const status = {
      'bounce-code': '5.1.1',
      message: 'smtp; 550-5.1.1 The account does not exist.',
      code: 550,
      description: 'Your message could not be delivered to one or more recipients.',
    };
    expect(
      failed({ reason: 'generic', flags: { 'is-delayed-bounce': true }, 'delivery-status': status }),
    ).toMatchObject([
      {
        class: 'hard',
        basicCode: 550,
        enhancedCode: '5.1.1',
        excerpt: '550-5.1.1 The account does not exist.',
      },
    ]);
    expect(failed({ 'delivery-status': { ...status, message: 'It is gone.' } })).toMatchObject([
      { class: 'hard', enhancedCode: '5.1.1', excerpt: 'It is gone.' },
    ]);
  });

  // “Failed (Permanent)”: codes of the 600s are Mailgun’s own, of no server.
  it('is, of an address that Mailgun keeps from mail itself, the reason for that', () => {
    const description = 'Not delivering to previously bounced address';
    const status = { code: 605, message: '', description };
    expect(failed({ reason: 'suppress-bounce', 'delivery-status': status })).toMatchObject([
      { kind: 'bounce', class: 'hard', basicCode: null, enhancedCode: null, excerpt: description },
    ]);
    expect(failed({ reason: 'suppress-unsubscribe' })).toMatchObject([{ kind: 'unsubscribed' }]);
    expect(failed({ reason: 'suppress-complaint' })).toMatchObject([{ kind: 'complaint' }]);
  });

  it('is a bounce of no dead address when Mailgun itself rejects what it had accepted', () => {
    const rejected = (reject: unknown) =>
      eventsOf({ event: 'rejected', reject, recipient: 'ada@example.com', message: { headers: {} } });
    expect(rejected({ reason: 'Sandbox subdomains are for test purposes only.', description: '' })).toEqual([
      {
        kind: 'bounce',
        class: 'unknown',
        basicCode: null,
        enhancedCode: null,
        excerpt: 'Sandbox subdomains are for test purposes only.',
        token: null,
        providerMessageId: null,
        address: 'ada@example.com',
      },
    ]);
    expect(rejected({ reason: '550 no such user' })).toMatchObject([{ class: 'unknown' }]);
    expect(rejected({ reason: 'virus', description: 'A virus was found' })).toMatchObject([
      { class: 'content' },
    ]);
    expect(rejected(7)).toMatchObject([{ class: 'unknown', excerpt: null }]);
  });

  it('is an unknown bounce without words and codes', () => {
    expect(failed({ reason: 'bounce' })).toMatchObject([{ class: 'unknown', excerpt: null }]);
    expect(failed({ 'delivery-status': { code: '550', message: 7, 'enhanced-code': 5.1 } })).toMatchObject([
      { class: 'unknown', basicCode: null },
    ]);
  });

  it('is nothing of opens and of types to come, and unreadable without an event', () => {
    for (const event of ['opened', 'clicked', 'accepted', 'stored', 'something_new', '__proto__'])
      expect(eventsOf({ event })).toEqual([]);
    for (const body of ['', '{', 'null', '[]', '{}', '{"event-data":{}}', '{"event-data":{"event":1}}'])
      expect(() => read({ ...mailgunPost({}), body: Buffer.from(body) })).toThrow(UnreadableFeedbackError);
  });
});

describe('a request of Mailgun', () => {
  const event = mailgunEvent(MAIL, { kind: 'delivered' });
  const post = mailgunPost(event);
  const signedWith = (change: (signature: Record<string, string>) => object) => {
    const { signature } = JSON.parse(post.body.toString()) as { signature: Record<string, string> };
    return {
      ...post,
      body: Buffer.from(JSON.stringify({ signature: change(signature), 'event-data': event })),
    };
  };

  it('is genuine when the key of the relay has signed it, or the key of the account above', async () => {
    expect(await isGenuine(post, PROOF)).toBe(true);
    const ofSubaccount = signedWith(({ signature, ...rest }) => ({
      ...rest,
      signature: '0'.repeat(64),
      'parent-signature': signature,
    }));
    expect(await isGenuine(ofSubaccount, PROOF)).toBe(true);
    expect(
      await isGenuine(
        signedWith((all) => ({ ...all, timestamp: Number(all['timestamp']) })),
        PROOF,
      ),
    ).toBe(true);
  });

  it('is not when another key has, or the relay has none', async () => {
    expect(await isGenuine(mailgunPost(event, { key: 'another key' }), PROOF)).toBe(false);
    expect(await isGenuine(post, { ...PROOF, key: null })).toBe(false);
    expect(await isGenuine(mailgunPost(event, { key: '' }), PROOF)).toBe(false);
  });

  it('is not with another timestamp, token or signature, or without one', async () => {
    for (const field of ['timestamp', 'token', 'signature']) {
      for (const other of ['', '1795495261', '0'.repeat(64), null, 1.5, [], undefined])
        expect(
          await isGenuine(
            signedWith((all) => ({ ...all, [field]: other })),
            PROOF,
          ),
        ).toBe(false);
    }
    // The signature covers timestamp and token as one text: parted at another place, it holds another timestamp.
    const moved = signedWith(({ timestamp = '', token = '', ...rest }) => ({
      ...rest,
      timestamp: timestamp.slice(0, -1),
      token: timestamp.slice(-1) + token,
    }));
    expect(await isGenuine(moved, PROOF)).toBe(false);
    for (const body of ['', '{', 'null', '{}', '{"signature":null}'])
      expect(await isGenuine({ ...post, body: Buffer.from(body) }, PROOF)).toBe(false);
  });

  it('has a token that is to count once, until its age alone refuses it', async () => {
    const { onceToken } = read(post);
    const { signature } = JSON.parse(post.body.toString()) as { signature: Record<string, string> };
    expect(onceToken?.value).toBe(signature['token']);
    expect(read(mailgunPost(event)).onceToken?.value).not.toBe(onceToken?.value);
    const until = onceToken?.until ?? post.receivedAt;
    expect(await isGenuine({ ...post, receivedAt: until }, PROOF)).toBe(true);
    expect(await isGenuine({ ...post, receivedAt: new Date(until.getTime() + 1) }, PROOF)).toBe(false);
  });
});
