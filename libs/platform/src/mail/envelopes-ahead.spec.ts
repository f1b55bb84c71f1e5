import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { type RawSmtpSink, startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import type { SinkAction, SinkStage } from '#testing/mail/sink-rules';
import { letTimeGo, stopTime, timedOut } from '#testing/time/time-limits';
import type { OutgoingMessage, SendOutcome } from './mail-transport.js';
import { SmtpTransport, type SmtpTransportOptions } from './smtp-transport.js';

const PIPELINING = ['PIPELINING', 'SMTPUTF8', 'SIZE 10000000'];
const MINDS = '554 5.5.0 Error: SMTP protocol synchronization';

let sink: RawSmtpSink;
let transport: SmtpTransport;

/** None waits for its message too long, however loaded the machine is. */
const PATIENT = { ahead: 600_000 };

const messageTo = (name: string) =>
  ({
    envelopeFrom: 'news@sender.test',
    envelopeTo: `${name}@example.test`,
    raw: Buffer.from(`Message-ID: <${name}@sender.test>\r\nSubject: Hello\r\n\r\nHello\r\n.\r\n..two\r\n`),
  }) satisfies OutgoingMessage;
const [ada, bob, eve] = [messageTo('ada'), messageTo('bob'), messageTo('eve')];
const early = messageTo('early');

async function start(extensions: readonly string[], options: Partial<SmtpTransportOptions> = {}) {
  sink = await startRawSmtpSink({ extensions });
  transport = new SmtpTransport({
    url: sink.url,
    connections: 1,
    messagesPerConnection: 100,
    ehloName: 'worker.sender.test',
    timeouts: PATIENT,
    ...options,
  });
}

/** Sends `message`, and with it the envelope of `next`. */
const sendBefore = (message: OutgoingMessage, next: OutgoingMessage) => transport.send(message, () => next);
const verbs = (): string => sink.commands.map((line) => line.slice(0, 4)).join(' ');
const envelopesOf = ({ envelopeTo }: OutgoingMessage): number =>
  sink.commands.filter((line) => line === `RCPT TO:<${envelopeTo}>`).length;
const accepted = (): string[] =>
  sink.messages.flatMap(({ to }) => to.map((each) => each.split('@')[0] ?? ''));
const addressed = (name: string) => (transaction: { readonly to: readonly string[] }) =>
  transaction.to.includes(`${name}@example.test`);

afterEach(async () => {
  letTimeGo();
  await transport.close();
  await sink.stop();
});

describe('a relay with PIPELINING', () => {
  beforeEach(() => start(PIPELINING));

  it('gets the next envelope with a message, and that message only when it is sent', async () => {
    expect(await sendBefore(ada, bob)).toMatchObject({ kind: 'accepted' });
    await eventually('the envelope is there', () => verbs() === 'EHLO MAIL RCPT DATA MAIL RCPT DATA');
    expect(accepted()).toEqual(['ada']);
    expect(await sendBefore(bob, eve)).toMatchObject({ kind: 'accepted' });
    expect(await transport.send(eve)).toMatchObject({ kind: 'accepted' });
    expect(verbs()).toBe('EHLO MAIL RCPT DATA MAIL RCPT DATA MAIL RCPT DATA');
    expect(sink.messages.map(({ raw }) => raw)).toEqual([ada.raw, bob.raw, eve.raw]);
    expect(sink.connections.total).toBe(1);
  });

  it('gets no message whose envelope it has in the place of another, which goes over a new session', async () => {
    await sendBefore(ada, bob);
    expect(await transport.send(eve)).toMatchObject({ kind: 'accepted' });
    expect(await transport.send(bob)).toMatchObject({ kind: 'accepted' });
    expect(accepted()).toEqual(['ada', 'eve', 'bob']);
    expect(sink.connections).toMatchObject({ total: 2, peak: 1 });
  });

  it('gets no message whose envelope it has when the transport closes', async () => {
    await sendBefore(ada, bob);
    await transport.close();
    expect(accepted()).toEqual(['ada']);
    expect(sink.commands).not.toContain('QUIT');
  });

  it('gets who waits before who may come', async () => {
    await Promise.all([sendBefore(ada, eve), sendBefore(bob, eve)]);
    expect(accepted()).toEqual(['ada', 'bob']);
    await eventually('the last envelope is there', () => envelopesOf(eve) === 1);
    expect(sink.connections.total).toBe(1);
  });

  it('gets an address outside ASCII as it is', async () => {
    const umlaut = { ...bob, envelopeTo: 'jürgen@example.test' };
    await sendBefore(ada, umlaut);
    await transport.send(umlaut);
    expect(accepted()).toEqual(['ada', 'jürgen']);
  });

  it('gets no envelope of a message that it cannot take', async () => {
    await sendBefore(ada, { ...bob, raw: Buffer.alloc(10_000_001, 'x') });
    await transport.send(eve);
    expect(verbs()).toBe('EHLO MAIL RCPT DATA MAIL RCPT DATA');
    expect(sink.connections.total).toBe(1);
  });

  it.each(['451 4.3.0 Not now', '554 5.7.1 Spam'])(
    'that answers a message with %s goes on with the envelope that followed it',
    async (reply) => {
      sink.behave({ at: 'body', action: { reply }, times: 1 });
      expect(await sendBefore(ada, bob)).toMatchObject({ reply: { code: Number(reply.slice(0, 3)) } });
      expect(await transport.send(bob)).toMatchObject({ kind: 'accepted' });
      expect(verbs()).toBe('EHLO MAIL RCPT DATA MAIL RCPT DATA');
      expect(accepted()).toEqual(['bob']);
    },
  );

  it.each<[SinkStage, string, string]>([
    ['mail', '550 5.7.1 Not you', 'permanent'],
    ['rcpt', '550 5.1.1 No such user', 'permanent'],
    ['rcpt', '452 4.2.2 Mailbox full', 'temporary'],
    ['data', '451 4.3.0 Not now', 'temporary'],
  ])('that refuses an envelope ahead at %s with %s gets no message for it', async (at, reply, kind) => {
    await transport.send(early);
    sink.behave({ at, action: { reply }, times: 1, when: () => accepted().includes('ada') });
    await sendBefore(ada, bob);
    expect(await transport.send(bob)).toMatchObject({ kind, stage: at });
    expect(await sendBefore(eve, bob)).toMatchObject({ kind: 'accepted' });
    expect(accepted()).toEqual(['early', 'ada', 'eve']);
    expect(sink.connections.total).toBe(1);
  });

  it('that wants a message for a recipient it refused gets an empty one', async () => {
    sink.behave({ at: 'rcpt', action: { reply: '550 5.1.1 No such user' }, when: addressed('bob') });
    sink.behave({ at: 'data', action: { reply: '354 Go on' }, when: ({ to }) => to.length === 0 });
    await sendBefore(ada, bob);
    expect(await transport.send(bob)).toMatchObject({ kind: 'permanent', stage: 'rcpt' });
    expect(await transport.send(eve)).toMatchObject({ kind: 'accepted' });
    expect(sink.messages.map(({ to, raw }) => [to[0], raw.length])).toEqual([
      ['ada@example.test', ada.raw.length],
      [undefined, 0],
      ['eve@example.test', eve.raw.length],
    ]);
    expect(sink.connections.total).toBe(1);
  });

  const losses: [SinkStage, SinkAction, SendOutcome['kind']][] = [
    ['body', 'drop', 'ambiguous'],
    ['body', 'reset', 'ambiguous'],
    ['body', { replyThenDrop: '421 4.3.2 Closing' }, 'temporary'],
    ['body', { replyThenDrop: '250 2.0.0 Queued' }, 'accepted'],
  ];
  it.each(losses)(
    'that at %s does %j gets the next one over another connection',
    async (at, action, kind) => {
      sink.behave({ at, action, times: 1 });
      expect(await sendBefore(ada, bob)).toMatchObject({ kind });
      expect(await transport.send(bob)).toMatchObject({ kind: 'accepted' });
      expect(accepted().filter((name) => name === 'bob')).toHaveLength(1);
      expect(sink.connections.total).toBe(2);
    },
  );

  it.each<[SinkStage, SinkAction]>([
    ['mail', { replyThenDrop: '421 4.7.0 Enough for one session' }],
    ['mail', 'drop'],
    ['rcpt', 'drop'],
    ['rcpt', { replyThenDrop: '421 4.3.2 Closing' }],
    ['data', 'drop'],
  ])('that accepts a message and at %s of the next does %j gets that one anew', async (at, action) => {
    let isFirst = true;
    const ofBob = at === 'mail' ? () => accepted().includes('ada') : addressed('bob');
    sink.behave({ at, action, when: (each) => isFirst && ofBob(each) && !(isFirst = false) });
    expect(await sendBefore(ada, bob)).toMatchObject({ kind: 'accepted' });
    expect(await transport.send(bob)).toMatchObject({ kind: 'accepted' });
    expect(accepted()).toEqual(['ada', 'bob']);
    expect(sink.connections.total).toBe(2);
  });

  it('that never answers a message has not got the next one', async () => {
    let isThere = false;
    sink.behave({ at: 'body', action: 'hang', times: 1, when: () => (isThere = true) });
    stopTime();
    expect(await timedOut(sendBefore(ada, bob), () => isThere)).toMatchObject({ kind: 'ambiguous' });
    expect(await transport.send(bob)).toMatchObject({ kind: 'accepted' });
    expect(accepted()).toEqual(['bob']);
  });
});

describe('a relay that minds an envelope ahead', () => {
  beforeEach(() => start(PIPELINING));

  async function expectNoMoreAhead(): Promise<void> {
    const before = envelopesOf(early);
    expect(await sendBefore(eve, early)).toMatchObject({ kind: 'accepted' });
    await transport.send(messageTo('last'));
    expect(envelopesOf(early)).toBe(before);
  }

  it('and refuses the message before it gets that alone, and all later ones', async () => {
    sink.behave({ at: 'body', action: { replyThenDrop: MINDS }, times: 1 });
    expect(await sendBefore(ada, bob)).toMatchObject({ kind: 'accepted' });
    expect(await transport.send(bob)).toMatchObject({ kind: 'accepted' });
    await expectNoMoreAhead();
    expect(accepted()).toEqual(['ada', 'bob', 'eve', 'last']);
  });

  it.each<[SinkStage, string]>([
    ['mail', MINDS],
    ['mail', '503 5.5.1 Not now'],
    ['data', '503 5.5.0 Improper use of pipelining'],
  ])('at %s with %s gets its message alone, and all later ones', async (at, reply) => {
    sink.behave({ at, action: { reply }, times: 1, when: () => accepted().includes('ada') });
    await sendBefore(ada, bob);
    expect(await transport.send(bob)).toMatchObject({ kind: 'accepted' });
    await expectNoMoreAhead();
    expect(accepted()).toEqual(['ada', 'bob', 'eve', 'last']);
  });

  it('and does not answer it gets its message alone, and all later ones', async () => {
    let isThere = false;
    sink.behave({
      at: 'rcpt',
      action: 'hang',
      times: 1,
      when: (each) => addressed('bob')(each) && (isThere = true),
    });
    await sendBefore(ada, bob);
    stopTime();
    expect(await timedOut(transport.send(bob), () => isThere)).toMatchObject({ kind: 'accepted' });
    letTimeGo();
    await expectNoMoreAhead();
    expect(accepted()).toEqual(['ada', 'bob', 'eve', 'last']);
  });

  it('and goes away without a word leaves one message in doubt, and gets all later ones alone', async () => {
    sink.behave({ at: 'body', action: 'drop', times: 1 });
    expect(await sendBefore(ada, bob)).toMatchObject({ kind: 'ambiguous' });
    await transport.send(bob);
    await expectNoMoreAhead();
  });

  it('is none that took one and goes away later', async () => {
    await sendBefore(early, ada);
    await transport.send(ada);
    sink.behave({ at: 'body', action: 'drop', times: 1 });
    expect(await sendBefore(bob, eve)).toMatchObject({ kind: 'ambiguous' });
    await transport.send(bob);
    await sendBefore(ada, eve);
    await eventually('the next envelope is there', () => envelopesOf(eve) === 1);
  });

  it('is none that refuses the same message alone', async () => {
    sink.behave({ at: 'rcpt', action: { reply: '503 5.5.1 Not now' }, when: addressed('bob') });
    await sendBefore(ada, bob);
    expect(await transport.send(bob)).toMatchObject({ kind: 'temporary', stage: 'session' });
    await sendBefore(ada, eve);
    await eventually('the next envelope is there', () => envelopesOf(eve) === 1);
  });
});

describe('an envelope', () => {
  it('leaves ahead to no relay without PIPELINING', async () => {
    await start(['SIZE 10000000']);
    await sendBefore(ada, bob);
    await transport.send(eve);
    expect(envelopesOf(bob)).toBe(0);
    expect(sink.connections.total).toBe(1);
  });

  it('does not leave ahead with the last message of a connection', async () => {
    await start(PIPELINING, { messagesPerConnection: 2 });
    for (const [message, next] of [
      [ada, bob],
      [bob, eve],
      [eve, early],
    ] as const)
      expect(await sendBefore(message, next)).toMatchObject({ kind: 'accepted' });
    expect([bob, eve].map(envelopesOf)).toEqual([1, 1]);
    expect(sink.commands.filter((line) => line === 'QUIT')).toHaveLength(1);
  });

  it('waits for its message so long, and then its session ends without it', async () => {
    await start(PIPELINING, { timeouts: { ahead: 30 } });
    await sendBefore(ada, bob);
    await eventually('the session has ended', () => sink.connections.open === 0);
    expect(accepted()).toEqual(['ada']);
    expect(await transport.send(bob)).toMatchObject({ kind: 'accepted' });
    expect(accepted()).toEqual(['ada', 'bob']);
  });

  it('is taken up over its own connection, whichever others are free', async () => {
    await start(PIPELINING, { connections: 3 });
    await Promise.all([sendBefore(ada, bob), transport.send(early), transport.send(eve)]);
    await transport.send(bob);
    const [first, second] = ['ada@example.test', 'bob@example.test'].map((to) =>
      sink.messages.find((mail) => mail.to.includes(to)),
    );
    expect(second?.connectionId).toBe(first?.connectionId);
    expect(envelopesOf(bob)).toBe(1);
  });
});
