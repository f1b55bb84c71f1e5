import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { copyIn } from '../../libs/platform/src/database/copy.js';

/** An empty, migrated database of one test file. */
export interface TestDatabase {
  /** By the login that the programs have. */
  readonly url: string;
  /** By a superuser. */
  readonly adminUrl: string;
  /** Runs SQL as a superuser, past row-level security. */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Runs a `COPY … FROM STDIN` with this data, as a superuser. */
  copyIn(statement: string, data: Buffer): Promise<void>;
  /** Ends its connections, ours or forgotten ones, and removes it. */
  drop(): Promise<void>;
}

/** Makes a database from the template, in some 50 ms. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const nodes = process.env['MAILWRIGHT_TEST_CITUS']?.split(',');
  if (nodes !== undefined) return createOnCitus(nodes);
  const server = process.env['MAILWRIGHT_TEST_POSTGRES'];
  if (server === undefined) throw new Error('Run the tests with `npm test`: it starts PostgreSQL for them.');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await onServer(server, `create database ${name} template mailwright_template strategy file_copy`);
  const database = openTestDatabase(`${server}/${name}`, () =>
    onServer(server, `drop database ${name} with (force)`),
  );
  return { ...database, url: asLogin(database.adminUrl) };
}

/** The same on a cluster, in some 1 s. */
async function createOnCitus(servers: readonly string[]): Promise<TestDatabase> {
  const { copyCitusTemplate } = await import('./citus.js');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const adminUrl = await copyCitusTemplate(servers, 'mailwright_template', name);
  const database = openTestDatabase(adminUrl, async () => {
    for (const server of servers) await onServer(server, `drop database ${name} with (force)`);
  });
  return { ...database, url: asLogin(adminUrl) };
}

/** Lets the time of a database be later by so much: what its programs go by when they have read it again. */
export async function advanceTime(database: TestDatabase, milliseconds: number): Promise<void> {
  const [row] = await database.query<{ now: string }>(
    `select pg_get_functiondef('platform.now'::regproc) as now`,
  );
  const later = `statement_timestamp() + interval '${milliseconds} milliseconds'`;
  await database.query(row!.now.replace('statement_timestamp()', later));
}

/** A database that is there already, where the programs have one login for all; `remove` is called when it is dropped. */
export function openTestDatabase(
  adminUrl: string,
  remove: () => Promise<void> = () => Promise.resolve(),
): TestDatabase {
  // Kept while it idles: where a test lets time pass, each step would cost a connection and what PostgreSQL learns on it.
  const pool = new pg.Pool({ connectionString: adminUrl, max: 4, idleTimeoutMillis: 0 });
  pool.on('error', () => undefined);
  return {
    url: adminUrl,
    adminUrl,
    query: async (text, values) => (await pool.query(text, values)).rows,
    copyIn: async (statement, data) => {
      const client = await pool.connect();
      await copyIn(client, statement, data).finally(() => client.release());
    },
    drop: async () => {
      await pool.end();
      await remove();
    },
  };
}

/** The same for the login of the programs, where whoever made the template made one. */
function asLogin(adminUrl: string, login = process.env['MAILWRIGHT_TEST_LOGIN']): string {
  return login === undefined ? adminUrl : adminUrl.replace(/\/\/[^@]*@/, `//${login}@`);
}

async function onServer(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${server}/postgres` });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
