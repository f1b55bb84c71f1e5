import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { copyIn } from '../../../libs/platform/src/database/copy.js';

/** Only ends a hang. */
const TERMINATION_MS = 300_000;

/** An empty, migrated database of one test file. */
export interface TestDatabase {
  /** URL with the login that the programs have. */
  readonly url: string;
  /** URL of a superuser. */
  readonly adminUrl: string;
  /** Runs SQL as a superuser, past row-level security. */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Runs a `COPY … FROM STDIN` with this data, as a superuser. */
  copyIn(statement: string, data: Buffer): Promise<void>;
  /** Ends its connections, ours or forgotten ones, and removes it. */
  drop(): Promise<void>;
}

/** The servers of a cluster, the coordinator first. */
const citusNodes = () => process.env['MAILWRIGHT_TEST_CITUS']?.split(',');

/** Databases are spread over the nodes of a Citus cluster. */
export const isOnCitus = citusNodes() !== undefined;

/** Makes a database from the template, or from one that was made a template, in some 50 ms. */
export async function createTestDatabase(template = 'mailwright_template'): Promise<TestDatabase> {
  const nodes = citusNodes();
  if (nodes !== undefined) return createOnCitus(nodes, template);
  const server = testServer();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await onServer(server, `create database ${name} template ${template} strategy file_copy`);
  const database = openTestDatabase(`${server}/${name}`, () =>
    onServer(server, `drop database ${name} with (force)`),
  );
  return { ...database, url: asLogin(database.adminUrl) };
}

function testServer(): string {
  const server = process.env['MAILWRIGHT_TEST_POSTGRES'];
  if (server === undefined) throw new Error('Run the tests with `npm test`: it starts PostgreSQL for them.');
  return server;
}

/** Lets nobody connect to a test's database any more, and tells its name: others are made from it, with all that is in it. */
export async function makeTemplate({ adminUrl }: TestDatabase): Promise<string> {
  const name = new URL(adminUrl).pathname.slice(1);
  for (const server of citusNodes() ?? [testServer()]) {
    await onServer(server, `alter database ${name} allow_connections false`);
    await onServer(
      server,
      `select pg_terminate_backend(pid, ${TERMINATION_MS}) from pg_stat_activity where datname = '${name}'`,
    );
  }
  return name;
}

/** The same on a cluster, in some 1 s. */
async function createOnCitus(servers: readonly string[], template: string): Promise<TestDatabase> {
  const { copyCitusTemplate } = await import('./citus.js');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const adminUrl = await copyCitusTemplate(servers, template, name);
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
