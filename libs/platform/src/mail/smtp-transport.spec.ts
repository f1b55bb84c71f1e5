import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type RawSmtpSink, startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import type { SinkAction, SinkStage } from '#testing/mail/sink-rules';
import { letTimeGo, stopTime, timedOut } from '#testing/time/time-limits';
import type { OutgoingMessage, SendOutcome, SmtpStage } from './mail-transport.js';
import { SmtpTransport } from './smtp-transport.js';

const EXTENSIONS = ['8BITMIME', 'SMTPUTF8', 'SIZE 10000000'];
const message = {
  envelopeFrom: 'b+1.mac@bounces.sender.test',
  envelopeTo: 'ada@example.test',
  raw: Buffer.from('Message-ID: <1@sender.test>\r\nSubject: Hello\r\n\r\nHello\r\n.\r\n..two\r\n'),
} satisfies OutgoingMessage;
const hang = 'hang' as const;
const drop = 'drop' as const;

let sink: RawSmtpSink;
let transport: SmtpTransport;

function transportTo(url: string): SmtpTransport {
  return new SmtpTransport({
    url,
    connections: 1,
    messagesPerConnection: 100,
    ehloName: 'worker.sender.test',
  });
}

async function start(extensions: readonly string[]): Promise<void> {
  sink = await startRawSmtpSink({ extensions });
  transport = transportTo(sink.url);
}

afterEach(async () => {
  letTimeGo();
  await transport.close();
  await sink.stop();
});

function unavailable(stage: SmtpStage): Partial<SendOutcome> {
  return { kind: 'route-unavailable', stage };
}

function refused(code: number, enhancedCode: string, stage: SmtpStage): object {
  return { kind: code < 500 ? 'temporary' : 'permanent', stage, reply: { code, enhancedCode } };
}

function ofSession(code: number, enhancedCode: string | null): object {
  return { kind: 'temporary', stage: 'session', reply: { code, enhancedCode } };
}

const international = Buffer.from('From: grüße@sender.test\r\nSubject: Hello\r\n\r\nHello\r\n');

describe.each([
  { relay: 'with PIPELINING', extensions: ['PIPELINING', ...EXTENSIONS] },
  { relay: 'without PIPELINING', extensions: EXTENSIONS },
])('a relay $relay', ({ extensions }) => {
  beforeEach(() => start(extensions));

  it('gets the message octet for octet, with the envelope', async () => {
    expect(await transport.send(message)).toEqual({
      kind: 'accepted',
      reply: { code: 250, enhancedCode: '2.0.0', text: 'Queued as 1' },
    });
    expect(sink.messages).toMatchObject([
      {
        from: message.envelopeFrom,
        to: [message.envelopeTo],
        messageId: '<1@sender.test>',
        raw: message.raw,
      },
    ]);
    expect(sink.commands[0]).toBe('EHLO worker.sender.test');
    expect(sink.commands[1]).toBe(`MAIL FROM:<${message.envelopeFrom}> SIZE=${message.raw.length}`);
  });

  const cases: [SinkStage, SinkAction, object][] = [
    ['greeting', { reply: '554 5.3.2 No' }, unavailable('greeting')],
    ['greeting', { replyThenDrop: '421 4.3.2 Closing' }, unavailable('greeting')],
    ['greeting', drop, unavailable('greeting')],
    ['greeting', hang, unavailable('greeting')],
    ['ehlo', { replyThenDrop: '421 4.3.2 Closing' }, unavailable('ehlo')],
    ['ehlo', drop, unavailable('ehlo')],
    ['ehlo', hang, unavailable('ehlo')],
    ['ehlo', { reply: '502 5.5.1 What?' }, { kind: 'accepted' }],
    ['mail', { reply: '451 4.7.1 Greylisted' }, refused(451, '4.7.1', 'mail')],
    ['mail', { reply: '550 5.7.1 Not you' }, refused(550, '5.7.1', 'mail')],
    ['mail', { replyThenDrop: '421 4.7.0 Slow down' }, refused(421, '4.7.0', 'mail')],
    ['mail', { reply: '530 5.7.0 Who are you?' }, unavailable('auth')],
    ['mail', { reply: '555 5.5.4 Unsupported option' }, ofSession(555, '5.5.4')],
    ['mail', { reply: '501 5.1.7 Bad sender address syntax' }, refused(501, '5.1.7', 'mail')],
    ['rcpt', { reply: '503 Bad sequence' }, ofSession(503, null)],
    ['rcpt', { reply: '501 Syntax error' }, ofSession(501, null)],
    ['rcpt', { reply: '501 5.1.3 Bad recipient address syntax' }, refused(501, '5.1.3', 'rcpt')],
    ['rcpt', { reply: '550 5.5.0 Mailbox unavailable' }, refused(550, '5.5.0', 'rcpt')],
    ['data', { reply: '503 5.5.0 Improper use of pipelining' }, ofSession(503, '5.5.0')],
    ['body', { reply: '554 5.5.0 Synchronization' }, ofSession(554, '5.5.0')],
    ['mail', { reply: 'hello' }, refused(421, '4.4.2', 'mail')],
    ['mail', { reply: '354 Go on' }, refused(421, '4.4.2', 'mail')],
    ['mail', drop, refused(421, '4.4.2', 'mail')],
    ['mail', hang, refused(421, '4.4.1', 'mail')],
    ['rcpt', { reply: '452 4.2.2 Mailbox full' }, refused(452, '4.2.2', 'rcpt')],
    ['rcpt', { reply: '550-5.1.1 No such\r\n550 5.1.1 user' }, refused(550, '5.1.1', 'rcpt')],
    ['rcpt', { replyThenDrop: '421 4.7.0 Slow down' }, refused(421, '4.7.0', 'rcpt')],
    ['rcpt', { replyThenDrop: '550 5.1.1 No such user' }, refused(550, '5.1.1', 'rcpt')],
    ['rcpt', drop, refused(421, '4.4.2', 'rcpt')],
    ['rcpt', hang, refused(421, '4.4.1', 'rcpt')],
    ['data', { reply: '451 4.3.0 Not now' }, refused(451, '4.3.0', 'data')],
    ['data', { reply: '554 5.7.1 No' }, refused(554, '5.7.1', 'data')],
    ['data', { replyThenDrop: '421 4.3.2 Closing' }, refused(421, '4.3.2', 'data')],
    ['data', { replyThenDrop: '250 Fine' }, refused(421, '4.4.2', 'data')],
    ['data', drop, refused(421, '4.4.2', 'data')],
    ['data', hang, refused(421, '4.4.1', 'data')],
    ['body-start', drop, { kind: 'ambiguous' }],
    ['body-start', { replyThenDrop: '552 5.3.4 Too big' }, refused(552, '5.3.4', 'body')],
    ['body', { reply: '451 4.3.0 Not now' }, refused(451, '4.3.0', 'body')],
    ['body', { reply: '554 5.7.1 Spam' }, refused(554, '5.7.1', 'body')],
    ['body', { replyThenDrop: '421 4.3.2 Closing' }, refused(421, '4.3.2', 'body')],
    ['body', { replyThenDrop: '250 2.0.0 Queued' }, { kind: 'accepted' }],
    ['body', { reply: 'hello' }, { kind: 'ambiguous' }],
    ['body', { reply: '354 Go on' }, { kind: 'ambiguous' }],
    ['body', drop, { kind: 'ambiguous' }],
    ['body', hang, { kind: 'ambiguous' }],
    ['body', { delayMs: 50 }, { kind: 'accepted' }],
  ];
  it.each(cases)('that at %s does %j gives the outcome %j', async (at, action, outcome) => {
    let isThere = false;
    sink.behave({ at, action, when: () => (isThere = true) });
    if (action === hang) stopTime();
    const sent = transport.send(message);
    expect(await (action === hang ? timedOut(sent, () => isThere) : sent)).toMatchObject(outcome);
  });

  it.each<[SinkStage, string]>([
    ['mail', '550 5.7.1 Not you'],
    ['rcpt', '550 5.1.1 No such user'],
    ['data', '451 4.3.0 Not now'],
    ['body', '554 5.7.1 Spam'],
  ])('that refused a message at %s takes the next one over the same connection', async (at, reply) => {
    sink.behave({ at, action: { reply }, times: 1 });
    expect((await transport.send(message)).kind).not.toBe('accepted');
    expect(await transport.send(message)).toMatchObject({ kind: 'accepted' });
    expect(sink.connections.total).toBe(1);
    expect(sink.count()).toBe(1);
  });

  it('that is at odds with a session gets the message in another one', async () => {
    await transport.send(message);
    sink.behave({ at: 'mail', action: { reply: '503 5.5.1 Nested MAIL command' }, times: 1 });
    expect(await transport.send(message)).toMatchObject({ kind: 'accepted' });
    expect(sink.connections.total).toBe(2);
    expect(sink.count()).toBe(2);
  });

  it('with a smaller size limit is not bothered with a larger message', async () => {
    const outcome = await transport.send({ ...message, raw: Buffer.alloc(10_000_001, 'x') });
    expect(outcome).toMatchObject(refused(552, '5.3.4', 'mail'));
    expect(sink.commands.filter((line) => line.startsWith('MAIL'))).toEqual([]);
  });

  it('gets SMTPUTF8 only for a local part that needs it', async () => {
    expect(await transport.send({ ...message, envelopeTo: 'jürgen@münchen.test' })).toMatchObject({
      kind: 'accepted',
    });
    expect(await transport.send({ ...message, envelopeTo: 'juergen@münchen.test' })).toMatchObject({
      kind: 'accepted',
    });
    const [first, second] = sink.commands.filter((line) => line.startsWith('MAIL'));
    expect(first).toContain(' SMTPUTF8');
    expect(second).not.toContain('SMTPUTF8');
    expect(sink.messages.map(({ to }) => to[0])).toEqual([
      'jürgen@xn--mnchen-3ya.test',
      'juergen@xn--mnchen-3ya.test',
    ]);
  });

  it('gets SMTPUTF8 for a header outside ASCII as well, and not for a body', async () => {
    await transport.send({ ...message, raw: international });
    await transport.send({ ...message, raw: Buffer.from('Subject: Hello\r\n\r\nGrüße\r\n') });
    const [first, second] = sink.commands.filter((line) => line.startsWith('MAIL'));
    expect(first).toMatch(/ SMTPUTF8 BODY=8BITMIME$/);
    expect(second).toMatch(/ SIZE=\d+ BODY=8BITMIME$/);
    expect(sink.messages[0]?.raw).toEqual(international);
  });

  it('is told of 8-bit content', async () => {
    const raw = Buffer.from('Subject: x\r\n\r\nGrüße\r\n');
    expect(await transport.send({ ...message, raw })).toMatchObject({ kind: 'accepted' });
    expect(sink.commands.find((line) => line.startsWith('MAIL'))).toContain(' BODY=8BITMIME');
    expect(sink.messages[0]?.raw).toEqual(raw);
  });

  it('gets a large message whole', async () => {
    const raw = Buffer.from(`Subject: x\r\n\r\n${'.0123456789abcdef\r\n'.repeat(50_000)}`);
    expect(await transport.send({ ...message, raw })).toMatchObject({ kind: 'accepted' });
    expect(sink.messages[0]?.raw.equals(raw)).toBe(true);
  });

  it('takes a bounce with the null sender', async () => {
    expect(await transport.send({ ...message, envelopeFrom: '' })).toMatchObject({ kind: 'accepted' });
    expect(sink.messages[0]?.from).toBe('');
  });

  it.each(['a@b.test>\r\nRCPT TO:<c@d.test', 'a\n@b.test', 'a\u0000@b.test', ''])(
    'never sees the recipient %j, which could break out of its command',
    async (envelopeTo) => {
      expect(await transport.send({ ...message, envelopeTo })).toMatchObject(refused(501, '5.1.3', 'rcpt'));
      expect(sink.commands.filter((line) => line.startsWith('RCPT'))).toEqual([]);
    },
  );
});

describe('a relay that offers nothing', () => {
  beforeEach(() => start([]));

  it('cannot get an internationalised address', async () => {
    const outcome = await transport.send({ ...message, envelopeTo: 'jürgen@example.test' });
    expect(outcome).toMatchObject(refused(553, '5.6.7', 'rcpt'));
  });

  it('cannot get an internationalised header, whoever it is for', async () => {
    const outcome = await transport.send({ ...message, raw: international });
    expect(outcome).toMatchObject(refused(550, '5.6.9', 'mail'));
    expect(sink.count()).toBe(0);
  });

  it('cannot get 8-bit content', async () => {
    const outcome = await transport.send({ ...message, raw: Buffer.from('Subject: x\r\n\r\nGrüße\r\n') });
    expect(outcome).toMatchObject(refused(554, '5.6.3', 'mail'));
  });

  it('gets an ordinary message', async () => {
    expect(await transport.send(message)).toMatchObject({ kind: 'accepted' });
    expect(sink.commands).toContain(`MAIL FROM:<${message.envelopeFrom}>`);
  });
});

describe('a relay that wants a body after it refused', () => {
  beforeEach(() => start(['PIPELINING']));

  it('the recipient, gets an empty one and the session goes on', async () => {
    sink.behave({ at: 'rcpt', action: { reply: '550 5.1.1 No such user' }, times: 1 });
    sink.behave({ at: 'data', action: { reply: '354 Go on' }, times: 1 });
    expect(await transport.send(message)).toMatchObject(refused(550, '5.1.1', 'rcpt'));
    expect(await transport.send(message)).toMatchObject({ kind: 'accepted' });
    expect(sink.messages.map(({ to, raw }) => [to, raw.length])).toEqual([
      [[], 0],
      [[message.envelopeTo], message.raw.length],
    ]);
    expect(sink.connections.total).toBe(1);
  });

  it('the recipient, and then goes away, has refused it all the same', async () => {
    sink.behave({ at: 'rcpt', action: { reply: '550 5.1.1 No such user' }, times: 1 });
    sink.behave({ at: 'data', action: { reply: '354 Go on' }, times: 1 });
    sink.behave({ at: 'body-start', action: 'drop', times: 1 });
    expect(await transport.send(message)).toMatchObject(refused(550, '5.1.1', 'rcpt'));
    expect(sink.count()).toBe(0);
  });

  it('the sender, gets no body and the connection ends', async () => {
    sink.behave({ at: 'mail', action: { reply: '550 5.7.1 Not you' }, times: 1 });
    sink.behave({ at: 'data', action: { reply: '354 Go on' }, times: 1 });
    expect(await transport.send(message)).toMatchObject(refused(550, '5.7.1', 'mail'));
    expect(await transport.send(message)).toMatchObject({ kind: 'accepted' });
    expect(sink.count()).toBe(1);
    expect(sink.connections.total).toBe(2);
  });
});
