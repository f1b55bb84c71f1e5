import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type RawSmtpSink, startRawSmtpSink } from '#testing/raw-smtp-sink';
import type { SinkAction, SinkStage } from '#testing/sink-rules';
import { letTimeGo, stopTime, timedOut } from '#testing/time-limits';
import type { OutgoingMessage, SendOutcome, SmtpStage } from './mail-transport.js';
import { SmtpTransport } from './smtp-transport.js';

const message = {
  envelopeFrom: 'news@sender.test',
  envelopeTo: 'ada@example.test',
  raw: Buffer.from('Message-ID: <1@sender.test>\r\nSubject: Hello\r\n\r\nHello\r\n.\r\n..two\r\n'),
  atOnce: true,
} satisfies OutgoingMessage;
const hang = 'hang' as const;
const drop = 'drop' as const;

let sink: RawSmtpSink;
let transport: SmtpTransport;

const options = (url: string) => ({
  url,
  connections: 1,
  messagesPerConnection: 100,
  ehloName: 'worker.sender.test',
});

/** It is awake for as long as a test takes, however loaded the machine is. */
function transportTo(url: string): SmtpTransport {
  return new SmtpTransport({ ...options(url), timeouts: { awake: 600_000 } });
}

async function start(extensions: readonly string[]): Promise<void> {
  sink = await startRawSmtpSink({ extensions });
  transport = transportTo(sink.url);
}

/** The commands of the transactions so far. */
const verbs = (): string =>
  sink.commands
    .map((line) => line.slice(0, 4))
    .filter((verb) => verb !== 'EHLO')
    .join(' ');

const raws = (): Buffer[] => sink.messages.map(({ raw }) => raw);

function refused(code: number, enhancedCode: string, stage: SmtpStage): object {
  return { kind: code < 500 ? 'temporary' : 'permanent', stage, reply: { code, enhancedCode } };
}

afterEach(async () => {
  letTimeGo();
  await transport.close();
  await sink.stop();
});

describe('a relay with CHUNKING', () => {
  beforeEach(() => start(['PIPELINING', 'SIZE 10000000', 'CHUNKING']));

  it('gets each message octet for octet, the first one when it has shown that it knows BDAT', async () => {
    for (let sent = 0; sent < 3; sent++)
      expect(await transport.send(message)).toMatchObject({ kind: 'accepted' });
    expect(verbs()).toBe('MAIL RCPT BDAT BDAT MAIL RCPT BDAT MAIL RCPT BDAT');
    const { length } = message.raw;
    const firstLine = message.raw.indexOf('\n') + 1;
    expect(sink.commands.filter((line) => line.startsWith('BDAT'))).toEqual([
      `BDAT ${firstLine}`,
      `BDAT ${length - firstLine} LAST`,
      `BDAT ${length} LAST`,
      `BDAT ${length} LAST`,
    ]);
    expect(raws()).toEqual([message.raw, message.raw, message.raw]);
  });

  it('gets by DATA what must not leave before its recipient is accepted', async () => {
    await transport.send(message);
    await transport.send({ ...message, atOnce: false });
    expect(verbs()).toBe('MAIL RCPT BDAT BDAT MAIL RCPT DATA');
    expect(raws()).toEqual([message.raw, message.raw]);
  });

  it('gets a large message by DATA', async () => {
    const raw = Buffer.from(`Subject: x\r\n\r\n${'.0123456789abcdef\r\n'.repeat(10_000)}`);
    await transport.send({ ...message, raw });
    expect(verbs()).toBe('MAIL RCPT DATA');
    expect(raws()).toEqual([raw]);
  });

  it('gets whole lines, whatever the message ends with', async () => {
    await transport.send(message);
    await transport.send({ ...message, raw: Buffer.from('Subject: x\n\nbare\rlines') });
    expect(raws()[1]?.toString()).toBe('Subject: x\r\n\r\nbare\r\nlines\r\n');
  });

  it('gets DATA alone when BDAT is switched off', async () => {
    await transport.close();
    transport = new SmtpTransport({ ...options(sink.url), chunking: false });
    await transport.send(message);
    await transport.send(message);
    expect(verbs()).toBe('MAIL RCPT DATA MAIL RCPT DATA');
  });

  const cases: [SinkStage, SinkAction, Partial<SendOutcome> | object][] = [
    ['mail', { reply: '451 4.7.1 Greylisted' }, refused(451, '4.7.1', 'mail')],
    ['mail', { reply: '550 5.7.1 Not you' }, refused(550, '5.7.1', 'mail')],
    ['mail', { reply: '530 5.7.0 Who are you?' }, { kind: 'route-unavailable', stage: 'auth' }],
    ['mail', { replyThenDrop: '550 5.7.1 Not you' }, refused(550, '5.7.1', 'mail')],
    ['mail', { reply: '354 Go on' }, { kind: 'ambiguous' }],
    ['mail', { reply: 'hello' }, { kind: 'ambiguous' }],
    ['mail', drop, { kind: 'ambiguous' }],
    ['mail', 'reset', { kind: 'ambiguous' }],
    ['mail', hang, { kind: 'ambiguous' }],
    ['rcpt', { reply: '452 4.2.2 Mailbox full' }, refused(452, '4.2.2', 'rcpt')],
    ['rcpt', { reply: '550-5.1.1 No such\r\n550 5.1.1 user' }, refused(550, '5.1.1', 'rcpt')],
    ['rcpt', { replyThenDrop: '550 5.1.1 No such user' }, refused(550, '5.1.1', 'rcpt')],
    ['rcpt', drop, { kind: 'ambiguous' }],
    ['rcpt', hang, { kind: 'ambiguous' }],
    ['body', { reply: '451 4.3.0 Not now' }, refused(451, '4.3.0', 'body')],
    ['body', { reply: '554 5.7.1 Spam' }, refused(554, '5.7.1', 'body')],
    ['body', { replyThenDrop: '421 4.3.2 Closing' }, refused(421, '4.3.2', 'body')],
    ['body', { replyThenDrop: '250 2.0.0 Queued' }, { kind: 'accepted' }],
    ['body', { reply: '354 Go on' }, { kind: 'ambiguous' }],
    ['body', drop, { kind: 'ambiguous' }],
    ['body', hang, { kind: 'ambiguous' }],
    ['body', 'trickle', { kind: 'ambiguous' }],
    ['body', { delayMs: 50 }, { kind: 'accepted' }],
  ];
  it.each(cases)('that at %s does %j to a message sent at once gives %j', async (at, action, outcome) => {
    await transport.send(message);
    const isSilent = action === hang || action === 'trickle';
    let isThere = false;
    sink.behave({ at, action, when: () => (isThere = true) });
    if (isSilent) stopTime();
    const sent = transport.send(message);
    expect(await (isSilent ? timedOut(sent, () => isThere) : sent)).toMatchObject(outcome);
  });

  it.each<[SinkStage, string]>([
    ['mail', '550 5.7.1 Not you'],
    ['rcpt', '550 5.1.1 No such user'],
    ['body', '554 5.7.1 Spam'],
  ])('that refused a message at %s takes the next one over the same connection', async (at, reply) => {
    await transport.send(message);
    sink.behave({ at, action: { reply }, times: 1 });
    expect((await transport.send(message)).kind).not.toBe('accepted');
    expect(await transport.send(message)).toMatchObject({ kind: 'accepted' });
    expect(await transport.send(message)).toMatchObject({ kind: 'accepted' });
    expect(verbs()).toBe('MAIL RCPT BDAT BDAT MAIL RCPT BDAT RSET MAIL RCPT DATA MAIL RCPT BDAT');
    expect(sink.connections.total).toBe(1);
    expect(sink.count()).toBe(3);
  });

  it('that ends the session with 421 gets the message over another one', async () => {
    await transport.send(message);
    sink.behave({ at: 'mail', action: { replyThenDrop: '421 4.3.2 Enough' }, times: 1 });
    expect(await transport.send(message)).toMatchObject({ kind: 'accepted' });
    expect(sink.connections.total).toBe(2);
    expect(sink.count()).toBe(2);
  });

  it('gets by DATA what comes after a rest, in which it may have ended the session', async () => {
    await transport.close();
    transport = new SmtpTransport({ ...options(sink.url), timeouts: { awake: 0 } });
    await transport.send(message);
    await transport.send(message);
    expect(verbs()).toBe('MAIL RCPT BDAT BDAT MAIL RCPT DATA');
  });

  it.each([
    '500 5.5.2 What?',
    '501 5.5.4 What?',
    '502 5.5.1 What?',
    '503 5.5.1 Not now',
    '504 5.5.4 Not so',
    '551 5.7.1 Null BDAT request',
    '554 5.7.1 No',
    '550 5.1.1 No such user',
  ])('that answers BDAT with %s gets the message by DATA, then and later', async (reply) => {
    sink.behave({ at: 'bdat', action: { reply } });
    expect(await transport.send(message)).toMatchObject({ kind: 'accepted' });
    expect(await transport.send(message)).toMatchObject({ kind: 'accepted' });
    expect(verbs()).toBe('MAIL RCPT BDAT MAIL RCPT DATA MAIL RCPT DATA');
    expect(raws()).toEqual([message.raw, message.raw]);
    expect(sink.connections.total).toBe(2);
  });

  it.each<SinkStage>(['mail', 'rcpt', 'body'])(
    'that minds at %s that all came at once gets the message by DATA, then and later',
    async (at) => {
      await transport.send(message);
      sink.behave({
        at,
        action: { replyThenDrop: '554 5.5.0 Error: SMTP protocol synchronization' },
        times: 1,
      });
      expect(await transport.send(message)).toMatchObject({ kind: 'accepted' });
      await transport.send(message);
      expect(verbs()).toMatch(/^MAIL RCPT BDAT BDAT MAIL .*MAIL RCPT DATA MAIL RCPT DATA$/);
      expect(sink.count()).toBe(3);
    },
  );

  it('gets a message of a single line by DATA, since there is no line to try BDAT with', async () => {
    await transport.send({ ...message, raw: Buffer.from('x') });
    expect(verbs()).toBe('MAIL RCPT DATA');
  });

  it('that knows BDAT only at first gets the message by DATA over another connection', async () => {
    await transport.send(message);
    sink.behave({ at: 'body', action: { reply: '502 5.5.1 What?' }, times: 1 });
    expect(await transport.send(message)).toMatchObject({ kind: 'accepted' });
    expect(verbs()).toBe('MAIL RCPT BDAT BDAT MAIL RCPT BDAT MAIL RCPT DATA');
    expect(sink.connections.total).toBe(2);
    expect(sink.count()).toBe(2);
  });

  it.each<[SinkStage, SinkAction, object]>([
    ['bdat', { reply: '451 4.3.0 Not now' }, refused(451, '4.3.0', 'data')],
    ['bdat', drop, refused(421, '4.4.2', 'data')],
    ['rcpt', { reply: '550 5.1.1 No such user' }, refused(550, '5.1.1', 'rcpt')],
    ['rcpt', drop, refused(421, '4.4.2', 'rcpt')],
    ['body', { reply: '550 5.7.1 Spam' }, refused(550, '5.7.1', 'body')],
    ['body', drop, { kind: 'ambiguous' }],
  ])('that at %s does %j to the first message of a session gives %j', async (at, action, outcome) => {
    sink.behave({ at, action });
    expect(await transport.send(message)).toMatchObject(outcome);
  });
});

describe('a relay with CHUNKING and without PIPELINING', () => {
  beforeEach(() => start(['CHUNKING']));

  it('gets its messages by DATA', async () => {
    await transport.send(message);
    await transport.send(message);
    expect(verbs()).toBe('MAIL RCPT DATA MAIL RCPT DATA');
  });
});
