import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrate } from '../../../libs/platform/src/database/migrations.js';
import { openTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { executableOf } from '../parts.js';
import { serverDirectory, type ServerProcess, startServerProcess } from './server-process.js';

const SUPERUSER = 'postgres';
const DATABASE = 'mailwright';
/** Options of setpriv: PostgreSQL refuses to run as root. */
const AS_POSTGRES = ['--reuid=postgres', '--regid=postgres', '--init-groups'];
/** A standby waits for nobody who reads: a conflict shows at once. */
const SETTINGS = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_standby_streaming_delay=0'];

/** A PostgreSQL server with a data directory of its own, which outlasts it. */
class Server {
  readonly #place: string;
  readonly #password: string;
  readonly #port: number;
  #process: ServerProcess | null = null;

  private constructor(place: string, password: string, port: number) {
    [this.#place, this.#password, this.#port] = [place, password, port];
  }

  static async named(name: string, password: string): Promise<Server> {
    return new Server(serverDirectory(name), password, await freePort());
  }

  get data(): string {
    return join(this.#place, 'data');
  }

  url(login = SUPERUSER, database = DATABASE): string {
    return `postgres://${login}:${this.#password}@127.0.0.1:${this.#port}/${database}`;
  }

  initialise(): void {
    const passwordFile = join(this.#place, 'password');
    writeFileSync(passwordFile, this.#password);
    run('initdb', [
      '-D',
      this.data,
      '-U',
      SUPERUSER,
      '-A',
      'scram-sha-256',
      `--pwfile=${passwordFile}`,
      '-N',
    ]);
  }

  copy(of: Server): void {
    run('pg_basebackup', ['-D', this.data, '-d', of.url(SUPERUSER, 'postgres'), '-R', '-c', 'fast']);
  }

  async start(): Promise<void> {
    const settings = SETTINGS.flatMap((setting) => ['-c', setting]);
    const postgres = executableOf('postgresql', 'postgres');
    this.#process ??= await startServerProcess({
      command: executableOf('postgresql', 'setpriv'),
      args: [...AS_POSTGRES, postgres, '-D', this.data, '-p', String(this.#port), ...settings],
      port: this.#port,
      directory: serverDirectory('postgres-output'),
      // Each of its processes leads a group of its own: SIGQUIT is an immediate shutdown of all.
      end: () =>
        process.kill(Number.parseInt(readFileSync(join(this.data, 'postmaster.pid'), 'utf8'), 10), 'SIGQUIT'),
    });
    await eventually('it takes connections', async () => {
      const database = openTestDatabase(this.url(SUPERUSER, 'postgres'));
      const answer = await database.query('select 1').catch(() => null);
      await database.drop();
      return answer;
    });
  }

  async kill(): Promise<void> {
    await this.#process?.stop();
    this.#process = null;
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#place, { recursive: true });
  }
}

/** A migrated database on a PostgreSQL of its own, which a hot standby follows. */
export interface ReplicatedPostgres {
  readonly primary: TestDatabase;
  /** The same database on the standby: by the programs' login; as a superuser asks, again if replay cancelled it. */
  readonly standby: Pick<TestDatabase, 'url' | 'query'>;
  killStandby(): Promise<void>;
  startStandby(): Promise<void>;
  stop(): Promise<void>;
}

export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const password = randomBytes(12).toString('hex');
  const first = await Server.named('primary', password);
  const second = await Server.named('standby', password);
  try {
    first.initialise();
    await first.start();
    const anyDatabase = openTestDatabase(first.url(SUPERUSER, 'postgres'));
    await anyDatabase.query(`create database ${DATABASE}`);
    await anyDatabase.drop();
    await migrate(first.url(), first.url('mailwright'));
    second.copy(first);
    await second.start();
  } catch (error) {
    await Promise.all([first.remove(), second.remove()]);
    throw error;
  }
  const [primary, standby] = [openTestDatabase(first.url()), openTestDatabase(second.url())];
  return {
    primary: { ...primary, url: first.url('mailwright') },
    standby: { url: second.url('mailwright'), query: unlessCancelled(standby) },
    killStandby: () => second.kill(),
    startStandby: () => second.start(),
    stop: async () => {
      await Promise.all([primary.drop(), standby.drop()]);
      await Promise.all([first.remove(), second.remove()]);
    },
  };
}

/** Asks again what replay cancelled (40001): every statement may be, even the one that lets it go on. */
const unlessCancelled =
  (standby: TestDatabase): TestDatabase['query'] =>
  (...statement) =>
    eventually('replay cancels no statement', () =>
      standby.query<never>(...statement).catch((error: unknown) => {
        if ((error as { readonly code?: unknown }).code === '40001') return null;
        throw error;
      }),
    );

/** A PostgreSQL without databases, whose logins all have one password. */
export interface EmptyPostgres {
  readonly password: string;
  url(login?: string, database?: string): string;
  stop(): Promise<void>;
}

export async function startEmptyPostgres(): Promise<EmptyPostgres> {
  const password = randomBytes(12).toString('hex');
  const server = await Server.named('empty', password);
  try {
    server.initialise();
    await server.start();
  } catch (error) {
    await server.remove();
    throw error;
  }
  return { password, url: (login, database) => server.url(login, database), stop: () => server.remove() };
}

function run(program: string, args: readonly string[]): void {
  const command = [...AS_POSTGRES, executableOf('postgresql', program), ...args];
  execFileSync(executableOf('postgresql', 'setpriv'), command, { stdio: 'pipe' });
}
