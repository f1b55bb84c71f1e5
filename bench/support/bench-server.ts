import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '#platform';
import { startPostgres } from '#platform/embedded-postgres';
import { openTestDatabase, type TestDatabase } from '#testing/postgres/database';

/** A PostgreSQL with everything durable, and a migrated database in it. */
export interface BenchServer {
  readonly pid: number;
  /** Directory of its own; it is removed with the server. */
  readonly directory: string;
  readonly database: TestDatabase;
  /** Bytes of WAL since the server was made. */
  walBytes(): Promise<number>;
  /** The URL of one more database, which is empty. */
  addDatabase(name: string): Promise<string>;
  stop(): Promise<void>;
}

/** `onLog` is called for each line that the server logs. `maxConnections` is for more than one worker. */
export async function startBenchServer(
  onLog?: (line: string) => void,
  maxConnections?: number,
): Promise<BenchServer> {
  const directory = await mkdtemp(join(tmpdir(), 'mailwright-bench-'));
  const options = { directory: join(directory, 'postgres'), ...(onLog && { onLog }) };
  let postgres = await startPostgres(options);
  if (maxConnections !== undefined) {
    const settings = openTestDatabase(postgres.url('postgres'));
    await settings.query(`alter system set max_connections = ${maxConnections}`);
    await settings.drop();
    await postgres.stop();
    postgres = await startPostgres(options);
  }
  const addDatabase = async (name: string) => {
    await postgres.ensureDatabase(name);
    return postgres.url(name);
  };
  const url = await addDatabase('bench');
  await migrate(url);
  const database = openTestDatabase(url);
  return {
    pid: postgres.pid,
    directory,
    database,
    walBytes: async () => {
      const [row] = await database.query<{ n: string }>(`select pg_current_wal_insert_lsn() - '0/0' as n`);
      return Number(row?.n);
    },
    addDatabase,
    stop: async () => {
      await postgres.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
