import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { type RawSmtpSink, startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import { letTimeGo, passTime, stopTime, timedOut } from '#testing/time/time-limits';
import type { OutgoingMessage, SendOutcome } from './mail-transport.js';
import { SmtpTransport, type SmtpTransportOptions } from './smtp-transport.js';

function messageTo(envelopeTo: string): OutgoingMessage {
  const raw = Buffer.from(`Message-ID: <${envelopeTo}>\r\nSubject: Hello\r\n\r\nHello\r\n`);
  return { envelopeFrom: 'b@bounces.sender.test', envelopeTo, raw };
}

function messages(count: number): OutgoingMessage[] {
  return Array.from({ length: count }, (_, at) => messageTo(`r${at}@example.test`));
}

const sinks: RawSmtpSink[] = [];
const transports: SmtpTransport[] = [];

async function relay(port = 0): Promise<RawSmtpSink> {
  const sink = await startRawSmtpSink({ port });
  sinks.push(sink);
  return sink;
}

function transportTo(url: string, options: Partial<SmtpTransportOptions> = {}): SmtpTransport {
  const transport = new SmtpTransport({
    url,
    connections: 1,
    messagesPerConnection: 1_000,
    ehloName: 'worker.sender.test',
    ...options,
  });
  transports.push(transport);
  return transport;
}

async function sendAll(
  transport: SmtpTransport,
  all: readonly OutgoingMessage[],
): Promise<SendOutcome['kind'][]> {
  const outcomes = await Promise.all(all.map((message) => transport.send(message)));
  return [...new Set(outcomes.map(({ kind }) => kind))];
}

afterEach(async () => {
  letTimeGo();
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
  await Promise.all(sinks.splice(0).map((sink) => sink.stop()));
});

describe('connections', () => {
  it('are opened with the first message and reused for the next', async () => {
    const sink = await relay();
    const transport = transportTo(sink.url);
    expect(sink.connections.total).toBe(0);
    for (const message of messages(20)) await transport.send(message);
    expect(sink.count()).toBe(20);
    expect(sink.connections.total).toBe(1);
    expect(sink.commands).not.toContain('RSET');
  });

  it('carry 200 messages sent at once, each exactly once and in order, without exceeding the capacity', async () => {
    const sink = await relay();
    const transport = transportTo(sink.url, { connections: 4 });
    expect(transport.capacity).toBe(4);
    expect(await sendAll(transport, messages(200))).toEqual(['accepted']);
    expect(new Set(sink.messages.map(({ messageId }) => messageId)).size).toBe(200);
    expect(sink.count()).toBe(200);
    expect(sink.connections.peak).toBe(4);
    for (const sent of Map.groupBy(sink.messages, ({ connectionId }) => connectionId).values()) {
      const places = sent.map(({ to }) => Number(to[0]?.slice(1).split('@')[0]));
      expect(places).toEqual(places.toSorted((one, other) => one - other));
    }
  });

  it('are renewed after their number of messages, the old one gone before the new one comes', async () => {
    const sink = await relay();
    const transport = transportTo(sink.url, { messagesPerConnection: 10 });
    expect(await sendAll(transport, messages(25))).toEqual(['accepted']);
    expect(sink.connections).toMatchObject({ total: 3, peak: 1 });
    expect(sink.commands.filter((line) => line === 'QUIT')).toHaveLength(2);
  });

  it('that are not needed any more end with QUIT', async () => {
    const sink = await relay();
    const transport = transportTo(sink.url, { connections: 3, timeouts: { idle: 30 } });
    await sendAll(transport, messages(9));
    await eventually('all connections ended', () => sink.connections.open === 0);
    expect(sink.commands.filter((line) => line === 'QUIT')).toHaveLength(3);
    expect(await transport.send(messageTo('late@example.test'))).toMatchObject({ kind: 'accepted' });
  });

  it('are as many as the relay allows when that is fewer than configured, and no message pays for it', async () => {
    const sink = await relay();
    sink.behave({
      at: 'greeting',
      when: () => sink.connections.open > 2,
      action: { replyThenDrop: '421 4.7.0 Too many connections' },
    });
    sink.behave({ at: 'body', action: { delayMs: 5 } });
    const transport = transportTo(sink.url, { connections: 5 });
    await transport.send(messageTo('first@example.test'));
    expect(await sendAll(transport, messages(60))).toEqual(['accepted']);
    expect(sink.count()).toBe(61);
  });
});

describe('a reused connection', () => {
  it.each([
    ['that the relay drops at the next message', 'drop'],
    ['that the relay ends with 421', { replyThenDrop: '421 4.4.2 Idle too long' }],
  ] as const)('%s is replaced, and the message is accepted once', async (_, action) => {
    const sink = await relay();
    const transport = transportTo(sink.url);
    await transport.send(messageTo('first@example.test'));
    sink.behave({ at: 'mail', action, times: 1 });
    expect(await transport.send(messageTo('second@example.test'))).toMatchObject({ kind: 'accepted' });
    expect(sink.connections.total).toBe(2);
    expect(sink.count()).toBe(2);
  });

  it('whose relay was restarted is replaced', async () => {
    const sink = await relay(await freePort());
    const transport = transportTo(sink.url);
    await transport.send(messageTo('first@example.test'));
    await sink.stop();
    sinks.splice(0);
    const restarted = await relay(sink.port);
    expect(await transport.send(messageTo('second@example.test'))).toMatchObject({ kind: 'accepted' });
    expect(restarted.count()).toBe(1);
  });

  it('is replaced only once for a message', async () => {
    const sink = await relay();
    const transport = transportTo(sink.url);
    await transport.send(messageTo('first@example.test'));
    sink.behave({ at: 'rcpt', action: 'drop' });
    expect(await transport.send(messageTo('second@example.test'))).toMatchObject({
      kind: 'temporary',
      stage: 'rcpt',
      reply: { code: 421, enhancedCode: '4.4.2' },
    });
    expect(sink.connections.total).toBe(2);
  });

  it('that refuses RSET is replaced', async () => {
    const sink = await relay();
    const transport = transportTo(sink.url);
    sink.behave({ at: 'rcpt', action: { reply: '550 5.1.1 No such user' }, times: 1 });
    sink.behave({ at: 'rset', action: { reply: '502 5.5.1 No' }, times: 1 });
    expect(await transport.send(messageTo('first@example.test'))).toMatchObject({ kind: 'permanent' });
    expect(await transport.send(messageTo('second@example.test'))).toMatchObject({ kind: 'accepted' });
    expect(sink.connections.total).toBe(2);
  });

  it('over which the relay says more than it was asked is replaced, so that no reply is taken for another', async () => {
    const sink = await relay();
    const transport = transportTo(sink.url);
    sink.behave({ at: 'body', action: { reply: '250 2.0.0 Queued\r\n550 5.1.1 Stray' }, times: 1 });
    expect(await transport.send(messageTo('first@example.test'))).toMatchObject({
      reply: { code: 250, text: 'Queued' },
    });
    expect(await transport.send(messageTo('second@example.test'))).toMatchObject({ kind: 'accepted' });
    expect(sink.connections.total).toBe(2);
    expect(sink.count()).toBe(2);
  });

  it('over which the relay says nothing in time is given up without a second try', async () => {
    const sink = await relay();
    const transport = transportTo(sink.url);
    await transport.send(messageTo('first@example.test'));
    let isThere = false;
    sink.behave({ at: 'mail', action: 'hang', times: 1, when: () => (isThere = true) });
    stopTime();
    const second = transport.send(messageTo('second@example.test'));
    expect(await timedOut(second, () => isThere)).toMatchObject({
      kind: 'temporary',
      reply: { enhancedCode: '4.4.1' },
    });
    expect(sink.connections.total).toBe(1);
  });

  it('lost after the body is never a reason to send again', async () => {
    const sink = await relay();
    const transport = transportTo(sink.url);
    await transport.send(messageTo('first@example.test'));
    sink.behave({ at: 'body', action: 'drop', times: 1 });
    expect(await transport.send(messageTo('second@example.test'))).toMatchObject({ kind: 'ambiguous' });
    expect(sink.connections.total).toBe(1);
    expect(await transport.send(messageTo('third@example.test'))).toMatchObject({ kind: 'accepted' });
  });
});

describe('a dead relay', () => {
  it('makes the route unavailable and says why', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('No port.');
    await new Promise((resolve) => server.close(resolve));
    const errors: Error[] = [];
    const transport = transportTo(`smtp://127.0.0.1:${address.port}`, {
      onConnectionError: (error) => errors.push(error),
    });
    const outcome = await transport.send(messageTo('a@example.test'));
    expect(outcome).toMatchObject({ kind: 'route-unavailable', stage: 'connect' });
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('ECONNREFUSED')]);
  });

  it('is not hammered, and used again once it is back', async () => {
    const sink = await relay();
    stopTime();
    const recover = sink.behave({
      at: 'greeting',
      action: { replyThenDrop: '554 5.3.2 Down' },
      // To connect takes a moment.
      when: () => (passTime(1), true),
    });
    const transport = transportTo(sink.url, { connections: 3 });
    const connectionsAfter = async (pauseMs: number) => {
      passTime(pauseMs);
      for (let wave = 0; wave < 20; wave++)
        expect(await sendAll(transport, messages(10))).toEqual(['route-unavailable']);
      return sink.connections.total;
    };
    // Three connections were tried at once at first; after that, one trial for each pause of 0.2 s, 0.4 s and so on.
    expect(await connectionsAfter(0)).toBe(3);
    expect(await connectionsAfter(190)).toBe(3);
    expect(await connectionsAfter(20)).toBe(4);
    expect(await connectionsAfter(380)).toBe(4);
    expect(await connectionsAfter(30)).toBe(5);
    recover();
    passTime(800);
    expect(await transport.send(messageTo('again@example.test'))).toMatchObject({ kind: 'accepted' });
    expect(await sendAll(transport, messages(10))).toEqual(['accepted']);
  });
});

describe('closing', () => {
  it('finishes what is in flight and what waits, then ends with QUIT', async () => {
    const sink = await relay();
    sink.behave({ at: 'body', action: { delayMs: 50 } });
    const transport = transportTo(sink.url, { connections: 2 });
    const sent = sendAll(transport, messages(6));
    await eventually(
      'two messages are under way',
      () => sink.commands.filter((line) => line === 'DATA').length === 2,
    );
    await transport.close();
    expect(sink.count()).toBe(6);
    expect(await sent).toEqual(['accepted']);
    expect(sink.commands.filter((line) => line === 'QUIT')).toHaveLength(2);
    await eventually('the connections are gone', () => sink.connections.open === 0);
  });

  it('takes no further message', async () => {
    const sink = await relay();
    const transport = transportTo(sink.url);
    await transport.close();
    expect(await transport.send(messageTo('late@example.test'))).toMatchObject({ kind: 'route-unavailable' });
    expect(sink.connections.total).toBe(0);
  });

  it('does not need the relay to answer QUIT', async () => {
    const sink = await relay();
    sink.behave({ at: 'quit', action: 'drop' });
    const transport = transportTo(sink.url);
    await transport.send(messageTo('a@example.test'));
    await transport.close();
    expect(sink.count()).toBe(1);
  });
});
