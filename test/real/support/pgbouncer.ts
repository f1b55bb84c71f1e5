import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '#testing/time/eventually';
import { freePort, isListening } from '#testing/programs/ports';
import { executableOf } from '../parts.js';

export interface PgBouncer {
  /** URL for programs, instead of the one that was given. */
  readonly url: string;
  /** As an operator does: the configuration is changed and read again. */
  switchTo(poolMode: PoolMode): Promise<void>;
  stop(): Promise<void>;
}

export type PoolMode = 'session' | 'transaction';

export interface PgBouncerOptions {
  /** The database and the login behind it. */
  readonly url: string;
  readonly poolMode: PoolMode;
  /** Lines of its section `[pgbouncer]` besides. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

/** A PgBouncer of its own before one database. */
export async function startPgBouncer({ url, poolMode, settings = {} }: PgBouncerOptions): Promise<PgBouncer> {
  const server = new URL(url);
  const directory = await mkdtemp(join(tmpdir(), 'mailwright-pgbouncer-'));
  const port = await freePort();
  const lines = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: join(directory, 'users'),
    default_pool_size: 80,
    max_client_conn: 200,
    ...settings,
  };
  const configuration = join(directory, 'pgbouncer.ini');
  await writeFile(lines.auth_file, `"${server.username}" "${decodeURIComponent(server.password)}"\n`);
  const target = `${server.pathname.slice(1)} = host=${server.hostname} port=${server.port}`;
  const configure = (mode: PoolMode) =>
    writeFile(
      configuration,
      [
        '[databases]',
        target,
        '[pgbouncer]',
        ...Object.entries({ ...lines, pool_mode: mode }).map(([name, value]) => `${name} = ${value}`),
      ].join('\n'),
    );
  await configure(poolMode);
  await chmod(directory, 0o755);
  // It does not run as root, and needs nothing of the user that it becomes.
  const user = process.getuid?.() === 0 ? ['--user=nobody'] : [];
  const child = spawn(executableOf('pgbouncer'), ['--quiet', ...user, configuration], { stdio: 'ignore' });
  await eventually('PgBouncer listens', () => isListening(port));
  server.port = String(port);
  return {
    url: server.href,
    switchTo: async (mode) => {
      await configure(mode);
      child.kill('SIGHUP');
    },
    stop: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
