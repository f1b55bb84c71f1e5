import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../programs/ports.js';

/** A server at another port of this machine, which can be away. */
export interface ForwardedPort {
  readonly port: number;
  /** Cuts every connection and takes no more. */
  cut(): Promise<void>;
  restore(): Promise<void>;
}

/** `watch` makes, for each connection, what is told the bytes that its client sends. */
export async function forwardPort(
  to: { readonly hostname: string; readonly port: string },
  watch?: () => (sent: Buffer) => void,
): Promise<ForwardedPort> {
  const port = await freePort();
  const open = new Set<Socket>();
  const listening = async (): Promise<Server> => {
    const server = createServer((client) => {
      const upstream = connect(Number(to.port), to.hostname);
      if (watch !== undefined) client.on('data', watch());
      for (const [from, onto] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        open.add(from);
        from.on('error', () => onto.destroy()).on('close', () => open.delete(from));
        from.pipe(onto);
      }
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  let server: Server | undefined = await listening();
  return {
    port,
    cut: async () => {
      if (server === undefined) return;
      const closed = once(server, 'close');
      server.close();
      server = undefined;
      for (const socket of open) socket.destroy();
      await closed;
    },
    restore: async () => {
      server ??= await listening();
    },
  };
}
