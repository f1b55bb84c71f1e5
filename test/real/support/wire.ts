import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from '#testing/servers/load-balancer';
import { takenPort } from '#testing/programs/ports';

/** An end of a message, and the envelope of the next one behind it. */
const AHEAD = /\r\n\.\r\nMAIL FROM:/g;
const LONGEST = '\r\n.\r\nMAIL FROM:'.length - 1;

/** Tap on the connections between our programs and a relay. */
export interface Wire {
  readonly url: string;
  /** Number of envelopes that left with the end of the message before, without waiting for its reply. */
  envelopesAhead(): number;
  stop(): Promise<void>;
}

/** A port of 127.0.0.1 behind which is the relay of `url`, which is spoken to in the clear. */
export async function startWire(url: string): Promise<Wire> {
  const { hostname: host, port } = new URL(url);
  const sockets = new Set<Socket>();
  let ahead = 0;
  const server: Server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host, port: Number(port), noDelay: true });
    let unanswered = '';
    client.on('data', (chunk) => {
      unanswered += chunk.toString('latin1');
      ahead += unanswered.match(AHEAD)?.length ?? 0;
      unanswered = unanswered.slice(-LONGEST);
    });
    upstream.on('data', () => (unanswered = ''));
    join(client, upstream, sockets);
  });
  const own = await takenPort(server);
  const here = new URL(url);
  here.port = String(own);
  return {
    url: here.href,
    envelopesAhead: () => ahead,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
