import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { takenPort } from '#testing/programs/ports';
import * as fc from '#testing/random/properties';
import {
  ConnectionLost,
  enhancedCodeOf,
  ReplyReader,
  SmtpChannel,
  SmtpProtocolError,
} from './smtp-channel.js';

describe('the enhanced status code', () => {
  it.each([
    [550, '5.1.1 No such user', '5.1.1'],
    [250, '2.0.0', '2.0.0'],
    [451, '4.7.650 The mail server has been temporarily rate limited', '4.7.650'],
    [554, 'Sorry, no mailbox here by that name. (#5.1.1)', '5.1.1'],
    [550, '#5.7.1 Your access is rejected', '5.7.1'],
  ])('of %d %s is read', (code, text, expected) => {
    expect(enhancedCodeOf(code, text)).toBe(expected);
  });

  it.each([
    [550, 'No such user'],
    [550, '4.2.2 The class contradicts the reply'],
    [550, '5.1.1.1 is an address or a version'],
    [550, 'Host 5.1.1 is listed'],
    [550, '5.1000.1 No such subject'],
    [354, 'Go on'],
  ])('of %d %s is none', (code, text) => {
    expect(enhancedCodeOf(code, text)).toBeNull();
  });
});

function read(text: string | Buffer) {
  return new ReplyReader().push(Buffer.from(text));
}

describe('replies', () => {
  it('of several lines become one text with one code', () => {
    const lines =
      '550-5.1.1 The account that you tried to reach\r\n550-5.1.1 does not exist.\r\n550 5.1.1 Bye\r\n';
    expect(read(lines)).toEqual([
      { code: 550, enhancedCode: '5.1.1', text: 'The account that you tried to reach does not exist. Bye' },
    ]);
  });

  it('may come in one piece, without text, and with bare LF', () => {
    expect(read('250\r\n250 2.1.5 Ok\n354 Go on\r\n').map(({ code }) => code)).toEqual([250, 250, 354]);
  });

  it('are read as UTF-8, or as Latin-1 where they are not', () => {
    expect(read('550 Empfänger unbekannt\r\n')[0]?.text).toBe('Empfänger unbekannt');
    expect(read(Buffer.from('550 Empfänger unbekannt\r\n', 'latin1'))[0]?.text).toBe('Empfänger unbekannt');
  });

  it('have no control characters, which no column of text takes', () => {
    expect(read('250 2.0.0 queued as\t<a\0b>\x1b\r\n')[0]?.text).toBe('queued as <a b> ');
  });

  it.each(['hello\r\n', '99 x\r\n', '600 x\r\n', '2500 x\r\n', '\r\n'])('are not lines like %j', (line) => {
    expect(() => read(line)).toThrow(SmtpProtocolError);
  });

  it('without end are cut off', () => {
    const reader = new ReplyReader();
    const chunk = Buffer.from(`250-${'x'.repeat(1_000)}\r\n`);
    expect(() => {
      for (let chunks = 0; chunks < 100; chunks++) reader.push(chunk);
    }).toThrow(SmtpProtocolError);
  });

  it('are the same however the network cuts them', () => {
    const octets = Buffer.from('220 hi\r\n250-a\r\n250-b ü\r\n250 c\r\n550 5.1.1 Nein, größer\r\n354 x\r\n');
    fc.assert(
      fc.property(fc.array(fc.nat(octets.length)), (cuts) => {
        const reader = new ReplyReader();
        const places = [0, ...cuts.sort((a, b) => a - b), octets.length];
        const replies = places.slice(1).flatMap((to, at) => reader.push(octets.subarray(places[at], to)));
        expect(replies).toEqual(read(octets));
      }),
    );
  });
});

const MESSAGES = 600;
const OCTETS = 20_000;

let server: Server;
let relay: Socket;
let channel: SmtpChannel;

beforeEach(async () => {
  server = createServer({ pauseOnConnect: true });
  const port = await takenPort(server);
  const accepted = once(server, 'connection');
  const socket = connect(port, '127.0.0.1');
  [relay] = (await accepted) as [Socket];
  const connection = new SMTPConnection({});
  socket.on('error', (error) => connection.emit('error', error));
  channel = new SmtpChannel(connection, socket);
});

afterEach(() => {
  channel.close();
  relay.destroy();
  server.close();
});

it('leaves a message alone until all of it has left, however late the relay reads', async () => {
  const expected = Array.from({ length: MESSAGES }, (_, at) => `${at}:`.padEnd(OCTETS, String(at % 10)));
  for (const message of expected) channel.write([message.slice(0, 10), Buffer.from(message.slice(10))], 0);
  expect((await arrived(MESSAGES * OCTETS)) === expected.join('')).toBe(true);
});

it('sends a large message piece by piece, and what is written meanwhile after it', async () => {
  const pieces = Array.from({ length: 200 }, (_, at) => `${at}:\u00e4`.padEnd(80_000, String(at % 10)));
  channel.write(
    pieces.map((piece, at) => (at % 2 === 0 ? piece : Buffer.from(piece, 'latin1'))),
    1,
  );
  channel.write('QUIT\r\n', 1);
  const whole = `${pieces.join('')}QUIT\r\n`;
  expect((await arrived(whole.length)) === whole).toBe(true);
});

it('forgets the rest of a large message when the relay goes away', async () => {
  channel.write(
    Array.from({ length: 200 }, () => Buffer.alloc(80_000)),
    1,
  );
  relay.destroy();
  await expect(channel.reply(60_000)).rejects.toThrow(ConnectionLost);
  expect(channel.usable).toBe(false);
});

/** So many octets, as the relay reads them. */
async function arrived(octets: number): Promise<string> {
  const chunks: Buffer[] = [];
  let missing = octets;
  const { promise, resolve } = Promise.withResolvers<void>();
  relay.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    missing -= chunk.length;
    if (missing <= 0) resolve();
  });
  relay.resume();
  await promise;
  return Buffer.concat(chunks).toString('latin1');
}
