import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';

/** Lets `server` listen on a port of loopback, 0 for any, and tells which. */
export async function takenPort(server: Server, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The port is not known.');
  return address.port;
}

/** Takes a port on loopback, 0 for any; the caller closes it. */
export async function takePort(port = 0): Promise<{ readonly port: number; release(): Promise<void> }> {
  const server = createServer();
  return {
    port: await takenPort(server, port),
    release: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

/** Below those that a system hands out to whoever asks for any: from 32 768 on Linux, from 49 152 elsewhere (RFC 6335 §6). */
const FIRST_PORT = 12_000;
const PORTS_OF_A_WORKER = 1_000;
const WORKERS = 20;

let next = randomInt(PORTS_OF_A_WORKER);

/**
 * A port for somebody who takes it only later, as a program does that starts for seconds. Nobody is given it
 * meanwhile: neither by the system, nor by the tests that run beside these.
 */
export async function freePort(): Promise<number> {
  const worker = Number(process.env['JEST_WORKER_ID'] ?? 0) % WORKERS;
  for (let left = PORTS_OF_A_WORKER; left > 0; left -= 1) {
    next = (next + 1) % PORTS_OF_A_WORKER;
    const port = FIRST_PORT + worker * PORTS_OF_A_WORKER + next;
    const taken = await takePort(port).catch(() => null);
    await taken?.release();
    if (taken !== null) return port;
  }
  throw new Error('No port is free.');
}

export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (listening: boolean) => {
      socket.destroy();
      resolve(listening);
    };
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}
