import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A balancer on 127.0.0.1: connections go in turn to those apis that say they are ready. It never tries again. */
export interface LoadBalancer {
  readonly url: string;
  /** Begins to ask a port for its readiness. */
  add(port: number): void;
  remove(port: number): void;
  /** The ports that new connections go to now. */
  ready(): readonly number[];
  stop(): Promise<void>;
}

const PROBE_EVERY_MS = 50;

export async function startLoadBalancer(): Promise<LoadBalancer> {
  const backends = new Map<number, boolean>();
  const sockets = new Set<Socket>();
  let turn = 0;
  const ready = () => [...backends].flatMap(([port, isReady]) => (isReady ? [port] : []));
  const server = createServer({ noDelay: true }, (client) => {
    const ports = ready();
    const port = ports[turn % ports.length];
    turn += 1;
    if (port === undefined) client.destroy();
    else join(client, connect({ port, host: '127.0.0.1', noDelay: true }), sockets);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stopping = new AbortController();
  const probing = probe(backends, stopping.signal);
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    add: (port) => void backends.set(port, false),
    remove: (port) => void backends.delete(port),
    ready,
    stop: async () => {
      stopping.abort();
      await probing;
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Passes bytes and ends both ways; a fault of one side is the other's too. */
export function join(client: Socket, upstream: Socket, sockets: Set<Socket>): void {
  for (const [socket, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    sockets.add(socket);
    socket.pipe(other);
    socket.on('error', () => other.destroy());
    socket.once('close', () => sockets.delete(socket));
  }
}

async function probe(backends: Map<number, boolean>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await Promise.all(
      [...backends.keys()].map(async (port) => {
        const isReady = await fetch(`http://127.0.0.1:${port}/health/ready`).then(
          async (answer) => (await answer.text(), answer.ok),
          () => false,
        );
        if (backends.has(port)) backends.set(port, isReady);
      }),
    );
    await delay(PROBE_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The balancer does not listen on a port.');
  return address.port;
}
