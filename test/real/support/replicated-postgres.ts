import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { migrate } from '../../../libs/platform/src/database/migrations.js';
import { openTestDatabase, type TestDatabase } from '#testing/database';
import { freePort } from '#testing/ports';
import { executableOf } from '../parts.js';
import { serverDirectory, type ServerProcess, startServerProcess } from './server-process.js';

/** A migrated database on a PostgreSQL of its own, which a hot standby follows. */
export interface ReplicatedPostgres {
  readonly primary: TestDatabase;
  /** The same database on the standby: by the programs' login, and as a superuser asks. */
  readonly standby: Pick<TestDatabase, 'url' | 'query'>;
  /** Kills the standby, or starts it again. */
  setStandby(is: 'down' | 'up'): Promise<void>;
  stop(): Promise<void>;
}

const SUPERUSER = 'postgres';
const DATABASE = 'mailwright';
const AS_POSTGRES = ['--reuid=postgres', '--regid=postgres', '--init-groups'];
/** The standby waits for nobody who reads: a conflict shows at once. */
const SETTINGS = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_standby_streaming_delay=0'];

export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const place = serverDirectory('replicated');
  const [primaryData, standbyData] = [join(place, 'primary'), join(place, 'standby')];
  const [primaryPort, standbyPort] = [await freePort(), await freePort()];
  const password = randomBytes(12).toString('hex');
  const urlOf = (port: number, login: string, database = DATABASE) =>
    `postgres://${login}:${password}@127.0.0.1:${port}/${database}`;

  writeFileSync(join(place, 'password'), password);
  run('initdb', [
    '-D',
    primaryData,
    '-U',
    SUPERUSER,
    '-A',
    'scram-sha-256',
    `--pwfile=${place}/password`,
    '-N',
  ]);
  const primaryServer = await startServer(primaryData, primaryPort);
  const anyDatabase = openTestDatabase(urlOf(primaryPort, SUPERUSER, 'postgres'));
  await anyDatabase.query(`create database ${DATABASE}`);
  await anyDatabase.drop();
  await migrate(urlOf(primaryPort, SUPERUSER), urlOf(primaryPort, 'mailwright'));
  run('pg_basebackup', [
    '-D',
    standbyData,
    '-d',
    urlOf(primaryPort, SUPERUSER, 'postgres'),
    '-R',
    '-c',
    'fast',
  ]);

  let standbyServer: ServerProcess | null = await startServer(standbyData, standbyPort);
  const primary = openTestDatabase(urlOf(primaryPort, SUPERUSER));
  const standby = openTestDatabase(urlOf(standbyPort, SUPERUSER));
  const setStandby = async (is: 'down' | 'up') => {
    if (is === 'up') standbyServer ??= await startServer(standbyData, standbyPort);
    else await standbyServer?.stop();
    if (is === 'down') standbyServer = null;
  };
  return {
    primary: { ...primary, url: urlOf(primaryPort, 'mailwright') },
    standby: { url: urlOf(standbyPort, 'mailwright'), query: standby.query },
    setStandby,
    stop: async () => {
      await Promise.all([primary.drop(), standby.drop()]);
      await setStandby('down');
      await primaryServer.stop();
      rmSync(place, { recursive: true });
    },
  };
}

/** PostgreSQL refuses to run as root. */
function run(program: string, args: readonly string[]): void {
  execFileSync('setpriv', [...AS_POSTGRES, binary(program), ...args], { stdio: 'pipe' });
}

function binary(program: string): string {
  return join(dirname(executableOf('postgresql', 'initdb')), program);
}

function startServer(data: string, port: number): Promise<ServerProcess> {
  const settings = SETTINGS.flatMap((setting) => ['-c', setting]);
  return startServerProcess({
    command: 'setpriv',
    args: [...AS_POSTGRES, binary('postgres'), '-D', data, '-p', String(port), ...settings],
    port,
    directory: serverDirectory('postgres'),
    // Each of its processes leads a group of its own: SIGQUIT is an immediate shutdown of all.
    end: () =>
      process.kill(Number.parseInt(readFileSync(join(data, 'postmaster.pid'), 'utf8'), 10), 'SIGQUIT'),
  });
}
