import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { takenPort } from '#testing/ports';
import { SmtpChannel } from './smtp-channel.js';

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
  channel = new SmtpChannel(new SMTPConnection({}), socket);
});

afterEach(() => {
  channel.close();
  relay.destroy();
  server.close();
});

it('leaves a message alone until all of it has left, however late the relay reads', async () => {
  const expected = Array.from({ length: MESSAGES }, (_, at) => `${at}:`.padEnd(OCTETS, String(at % 10)));
  for (const message of expected) channel.write([message.slice(0, 10), Buffer.from(message.slice(10))], 0);
  const read: Buffer[] = [];
  let octets = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  relay.on('data', (chunk: Buffer) => {
    read.push(chunk);
    octets += chunk.length;
    if (octets === MESSAGES * OCTETS) resolve();
  });
  relay.resume();
  await promise;
  expect(Buffer.concat(read).toString('latin1') === expected.join('')).toBe(true);
});
