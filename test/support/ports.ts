import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';

/** Takes a port on loopback, 0 for any; the caller closes it. */
export async function takePort(port = 0): Promise<{ readonly port: number; release(): Promise<void> }> {
  const server: Server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The port is not known.');
  return {
    port: address.port,
    release: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

export async function freePort(): Promise<number> {
  const taken = await takePort();
  await taken.release();
  return taken.port;
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
