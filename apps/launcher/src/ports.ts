import { connect, createServer } from 'node:net';
import { LaunchError } from './failure.js';

const LOOPBACK = ['127.0.0.1', '::1'];
const PROBE_MS = 500;

/** A port that no other program can take: somebody listens on it. */
export interface HeldPort {
  readonly port: number;
  /** Leaves it to its server, which is to be started at once. */
  readonly release: () => Promise<void>;
}

/**
 * Holds the port of a server on `host`: `wanted`, or an error when it is taken; without `wanted` (or with 0) the first
 * free one of `preferred`, else any.
 */
export async function holdPort(
  use: string,
  choice: {
    readonly wanted?: number | undefined;
    readonly preferred: readonly number[];
    readonly host?: string;
  },
): Promise<HeldPort> {
  const host = choice.host ?? '127.0.0.1';
  const { wanted = 0 } = choice;
  if (!(await canListen(0, host)))
    throw new LaunchError(
      `HOST is ${host}, which is no address of this machine. Choose another, or leave it to Mailwright.`,
    );
  const ports = choice.wanted === undefined ? choice.preferred : [wanted].filter((port) => port !== 0);
  for (const port of ports) {
    const held = (await isFree(port, host)) ? await hold(port, host) : null;
    if (held !== null) return held;
  }
  const any = wanted === 0 ? await hold(0, host) : null;
  if (any !== null) return any;
  throw new LaunchError(
    `Port ${wanted}, asked for as the port of ${use}, is taken or not allowed. Choose another, or leave it to Mailwright.`,
  );
}

/** Null when somebody else has it. */
function hold(port: number, host: string): Promise<HeldPort | null> {
  return new Promise((resolve) => {
    const server = createServer((client) => client.destroy());
    server.once('error', () => resolve(null));
    server.listen(port, host, () => {
      const address = server.address();
      resolve({
        port: typeof address === 'object' && address !== null ? address.port : port,
        release: () => new Promise((released) => void server.close(() => released())),
      });
    });
    server.unref();
  });
}

/**
 * True when a server could use the port and `localhost` would reach it: no other server may answer on either loopback
 * address, since clients try `::1` first.
 */
export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  for (const address of LOOPBACK) if (await answers(port, address)) return false;
  for (const address of new Set([host, ...LOOPBACK])) if (!(await canListen(port, address))) return false;
  return true;
}

function canListen(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      // A machine without IPv6 has no ::1.
      resolve(host === '::1' && ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'].includes(error.code ?? ''));
    });
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}

/** BSD and macOS allow listening on an address while another server has the port on all addresses, so also connect. */
function answers(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    const end = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.setTimeout(PROBE_MS, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
