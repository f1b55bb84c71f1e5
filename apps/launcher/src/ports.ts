import { connect, createServer } from 'node:net';
import { LaunchError } from './launch.error.js';

const LOOPBACK = ['127.0.0.1', '::1'];
const PROBE_MS = 500;

/**
 * Picks the port for a server on `host`: `wanted`, or an error when it is taken; without `wanted` (or with 0) the first
 * free one of `preferred`, else any.
 */
export async function choosePort(
  use: string,
  choice: {
    readonly wanted?: number | undefined;
    readonly preferred: readonly number[];
    readonly host?: string;
  },
): Promise<number> {
  const host = choice.host ?? '127.0.0.1';
  if (choice.wanted !== undefined && choice.wanted !== 0) {
    if (await isFree(choice.wanted, host)) return choice.wanted;
    throw new LaunchError(
      `Port ${choice.wanted}, asked for as the port of ${use}, is taken or not allowed. Choose another, or leave it to Mailwright.`,
    );
  }
  for (const port of choice.wanted === 0 ? [] : choice.preferred) if (await isFree(port, host)) return port;
  return anyPort(host);
}

/**
 * Whether a server could use the port and `localhost` would reach it: no other server may answer on either loopback
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

function anyPort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, host, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
