import { mkdir, realpath } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { type PostgresBinaries, postgresBinaries, prepareCluster, SUPERUSER } from './cluster.js';
import { ServerEndedError, type ServerProcess, startServer, stopLeftover } from './server-process.js';
import { commandAs, PostgresStartError, type ServerUser, serverUser } from './server-user.js';

export { PostgresStartError } from './server-user.js';
export { runtimeUrl } from '../database/runtime-url.js';

export interface PostgresOptions {
  /** The data directory; made when absent, kept when stopped. */
  readonly directory: string;
  /** On 127.0.0.1. */
  readonly port?: number;
  /** Without `port`: the first of these that is free, else any. */
  readonly preferredPorts?: readonly number[];
  /** For tests: quick, and lost with the power. */
  readonly ephemeral?: boolean;
  /** Each line that the server writes. */
  readonly onLog?: (line: string) => void;
  /** Gives the start up; a server that is ready is stopped with `stop`. */
  readonly signal?: AbortSignal;
}

export interface PostgresServer {
  readonly port: number;
  readonly pid: number;
  /** Resolves to the way it ended; never rejects. */
  readonly exited: Promise<string>;
  /** The superuser's connection string for a database of this server. */
  url(database: string): string;
  /** Makes an empty database unless there is one of this name. */
  ensureDatabase(name: string): Promise<void>;
  /** Fast shutdown; when that takes longer than `patienceMs`, an immediate one, from which the next start recovers. */
  stop(patienceMs?: number): Promise<void>;
}

const READY_MS = 120_000;
const STOP_MS = 10_000;
const SHARED_FLAGS = ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='];
const EPHEMERAL_FLAGS = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'max_connections=400',
  'scram_iterations=1',
].flatMap((setting) => ['-c', setting]);

/**
 * Starts PostgreSQL 18 on a data directory and resolves when it takes connections; stops one that a killed launcher left there
 * first. When this process ends, the server ends too. Rejects with `PostgresStartError`.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  await mkdir(dirname(resolve(options.directory)), { recursive: true, mode: 0o711 });
  const directory = join(await realpath(dirname(options.directory)), basename(options.directory));
  const binaries = await postgresBinaries();
  const user = await serverUser(directory);
  await stopLeftover(directory);
  const ephemeral = options.ephemeral ?? false;
  const password = await prepareCluster(directory, user, binaries, !ephemeral);
  const { server, port } = await startOnPort(options, directory, user, binaries);
  const url = (database: string) => `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
  return {
    port,
    pid: server.pid,
    exited: server.exited,
    url,
    ensureDatabase: (name) => ensureDatabase(url('postgres'), name),
    stop: (patienceMs = STOP_MS) => stop(server, patienceMs),
  };
}

/** Tries again while processes of a killed server hold its memory, and with another port where the port is ours to choose. */
async function startOnPort(
  options: PostgresOptions,
  directory: string,
  user: ServerUser | null,
  binaries: PostgresBinaries,
): Promise<{ server: ServerProcess; port: number }> {
  const deadline = performance.now() + READY_MS;
  const preferred = [...(options.preferredPorts ?? [])];
  for (;;) {
    const port = options.port ?? preferred[0] ?? (await freePort());
    const flags = [
      '-D',
      directory,
      '-p',
      `${port}`,
      ...SHARED_FLAGS,
      ...(options.ephemeral ? EPHEMERAL_FLAGS : []),
    ];
    const command = await commandAs(user, binaries.postgres, flags, [directory]);
    try {
      const limits = { deadlineMs: deadline - performance.now(), signal: options.signal };
      const server = await startServer(command, directory, limits, options.onLog ?? (() => undefined));
      return { server, port };
    } catch (error) {
      if (!(error instanceof ServerEndedError)) throw error;
      const text = error.output.join('\n');
      const portTaken = /Address already in use/i.test(text);
      const mayTryAgain =
        /pre-existing shared memory block/.test(text) || (portTaken && options.port === undefined);
      const over = performance.now() > deadline || options.signal?.aborted === true;
      if (!mayTryAgain || over) throw plainly(error, portTaken, port);
      if (portTaken) preferred.shift();
    }
    await delay(200);
  }
}

function plainly(error: ServerEndedError, portTaken: boolean, port: number): PostgresStartError {
  if (portTaken)
    return new PostgresStartError(`Port ${port}, meant for PostgreSQL, is taken by another program.`, {
      cause: error,
    });
  return new PostgresStartError(error.message, { cause: error });
}

async function stop(server: ServerProcess, patienceMs: number): Promise<void> {
  server.signal('SIGINT');
  const timer = setTimeout(() => server.signal('SIGQUIT'), patienceMs);
  await server.exited;
  clearTimeout(timer);
}

async function ensureDatabase(url: string, name: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}

function freePort(): Promise<number> {
  return new Promise((resolvePort, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolvePort(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
