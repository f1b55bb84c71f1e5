import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { projectRoot } from '../project-root.js';
import { UnfitDatabaseError } from './database-failure.js';
import type { ConnectionPool } from './connection-pool.js';
import { UnsafeSessionError } from './connection.js';

export interface MigrationFile {
  /** Without its ending; names order the history. */
  readonly name: string;
  readonly statements: string;
  /** SHA-256 of the text, in hex. */
  readonly digest: string;
}

/** The names of this version's migrations, in their order. */
export async function migrationNames(): Promise<string[]> {
  const entries = await readdir(join(projectRoot(), 'migrations'));
  return entries
    .filter((entry) => entry.endsWith('.sql'))
    .map((entry) => entry.replace(/\.sql$/, ''))
    .sort();
}

/** This version's migrations, in the order of their names. */
export async function migrationFiles(): Promise<MigrationFile[]> {
  const names = await migrationNames();
  return Promise.all(
    names.map(async (name) => {
      const statements = await readFile(join(projectRoot(), 'migrations', `${name}.sql`), 'utf8');
      return { name, statements, digest: createHash('sha256').update(statements).digest('hex') };
    }),
  );
}

/** Table of the names of applied migrations. */
export const MIGRATIONS_TABLE = 'schema_migrations';

const NAMED = 3;

/** The database is older than this program. */
export class PendingMigrationsError extends UnfitDatabaseError {
  constructor(readonly pending: readonly string[]) {
    super(
      `The database lacks migrations: ${some(pending)}. Run \`mailwright migrate\` first (in a clone: \`npm run migrate\`).`,
    );
  }
}

/** The database is newer than this program. */
export class NewerSchemaError extends UnfitDatabaseError {
  constructor(readonly unknown: readonly string[]) {
    super(
      `The database is newer than this program, which does not know its migrations ${some(unknown)}. ` +
        'Run the version that migrated it, or a later one; to go back, restore a backup.',
    );
  }
}

/** A migration was changed after it was applied. */
export class ChangedMigrationsError extends UnfitDatabaseError {
  constructor(readonly changed: readonly string[]) {
    super(
      `Migrations were changed after they were applied: ${some(changed)}. Bring back the files as they were, ` +
        'and put the change into a new file.',
    );
  }
}

/** Migrations that only this version has, and those that only the database has. */
export interface SchemaDifference {
  readonly pending: readonly string[];
  readonly unknown: readonly string[];
}

export async function schemaDifference(client: pg.Client | pg.Pool): Promise<SchemaDifference> {
  const [own, applied] = await Promise.all([migrationNames(), appliedMigrations(client)]);
  const [inFiles, inDatabase] = [new Set(own), new Set(applied)];
  return {
    pending: own.filter((name) => !inDatabase.has(name)),
    unknown: applied.filter((name) => !inFiles.has(name)),
  };
}

/** Throws a `PendingMigrationsError` or a `NewerSchemaError` unless the database has this version's schema. */
export async function refuseOtherSchema(client: pg.Client | pg.Pool): Promise<void> {
  const { pending, unknown } = await schemaDifference(client);
  if (unknown.length > 0) throw new NewerSchemaError(unknown);
  if (pending.length > 0) throw new PendingMigrationsError(pending);
}

/** Throws a `PendingMigrationsError` when the database is older than this version. */
export async function refuseOlderSchema(client: pg.Client | pg.Pool): Promise<void> {
  const { pending } = await schemaDifference(client);
  if (pending.length > 0) throw new PendingMigrationsError(pending);
}

/** Throws a `NewerSchemaError` or a `ChangedMigrationsError` where the history in the database is not that of `files`. */
export async function refuseOtherHistory(client: pg.Client, files: readonly MigrationFile[]): Promise<void> {
  const { unknown } = await schemaDifference(client);
  if (unknown.length > 0) throw new NewerSchemaError(unknown);
  if (!(await hasRecords(client))) return;
  // The first migration adds the column.
  const { rows } = await client.query<{ name: string; digest: string | null }>(
    `select name, to_jsonb(m) ->> 'digest' as digest from public.${MIGRATIONS_TABLE} m`,
  );
  const digests = new Map(rows.map(({ name, digest }) => [name, digest]));
  const changed = files.filter(({ name, digest }) => (digests.get(name) ?? digest) !== digest);
  if (changed.length > 0) throw new ChangedMigrationsError(changed.map(({ name }) => name));
}

/** Records the digests of the files that were applied now. */
export async function recordDigests(client: pg.Client, files: readonly MigrationFile[]): Promise<void> {
  await client.query(
    `update public.${MIGRATIONS_TABLE} m set digest = f.digest
     from unnest($1::text[], $2::text[]) f (name, digest) where f.name = m.name and m.digest is null`,
    [files.map(({ name }) => name), files.map(({ digest }) => digest)],
  );
}

async function appliedMigrations(client: pg.Client | pg.Pool): Promise<string[]> {
  if (!(await hasRecords(client))) return [];
  const { rows } = await client.query<{ name: string }>(
    `select name from public.${MIGRATIONS_TABLE} order by name`,
  );
  return rows.map(({ name }) => name);
}

async function hasRecords(client: pg.Client | pg.Pool): Promise<boolean> {
  const { rows } = await client.query<{ present: boolean }>(
    `select to_regclass('public.${MIGRATIONS_TABLE}') is not null as present`,
  );
  return rows[0]?.present === true;
}

function some(names: readonly string[]): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return `${names.slice(0, NAMED).join(', ')}${more}`;
}

/** The oldest PostgreSQL that has what our SQL uses, e.g. `security_invoker` views. */
const OLDEST = 15;

/** The server is older than our SQL can do with. */
export class OldServerError extends UnfitDatabaseError {
  constructor(version: string) {
    super(`The PostgreSQL of DATABASE_URL is ${version}; Mailwright needs ${OLDEST} or newer.`);
  }
}

/** Throws `OldServerError` when `version` (as `server_version`, e.g. `14.11 (Debian 14.11-1)`) is too old. */
export function refuseOldVersion(version: string): void {
  if (Number.parseInt(version, 10) < OLDEST) throw new OldServerError(version);
}

/** Asks the server for its version; throws `OldServerError`. */
export async function refuseOldServer(client: pg.Client | pg.Pool): Promise<void> {
  const { rows } = await client.query<{ server_version: string }>('show server_version');
  refuseOldVersion(rows[0]?.server_version ?? '');
}

/** A pooler that gives a connection to somebody else after each transaction. */
export class TransactionPoolingError extends UnfitDatabaseError {
  constructor() {
    super(
      'DATABASE_URL leads to a connection pooler in transaction mode. Mailwright needs sessions, for LISTEN and for ' +
        'statements that are planned once: set the pooler to session mode (PgBouncer: pool_mode = session), or connect ' +
        'to PostgreSQL itself (docs/database.md#poolers).',
    );
  }
}

/** Several, since other clients of the pooler may take the connection that is looked for. */
const ATTEMPTS = 20;

/**
 * Throws a `TransactionPoolingError` when a connection is given away while its client is still there: to a second client, which
 * holds it in a transaction, or in exchange for another.
 */
export async function refuseTransactionPooling(pool: ConnectionPool): Promise<void> {
  const first = await pool.connect();
  try {
    if (!first.isPooled) return;
    const second = await pool.connect();
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        if (await isGivenAway(first, second)) throw new TransactionPoolingError();
      }
    } catch (error) {
      throw error instanceof UnsafeSessionError ? new TransactionPoolingError() : error;
    } finally {
      second.release();
    }
  } finally {
    first.release();
  }
}

async function isGivenAway(first: pg.ClientBase, second: pg.ClientBase): Promise<boolean> {
  const own = await processOf(first);
  // Two in turn would come back to the first client after the second has had its own.
  if ((await processOf(first)) !== own) return true;
  await second.query('begin');
  try {
    // In this order: where there is one connection only, the second client holds it, and the first would wait for it.
    if ((await processOf(second)) === own) return true;
    return (await processOf(first)) !== own;
  } finally {
    await second.query('rollback').catch(() => undefined);
  }
}

async function processOf(client: pg.ClientBase): Promise<number | undefined> {
  return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
}

/** Throws an `UnfitDatabaseError` unless this version can work with the database of `pool`. Called before any work begins. */
export async function refuseUnfitDatabase(pool: ConnectionPool): Promise<void> {
  await refuseTransactionPooling(pool);
  await refuseOldServer(pool);
  await refuseOtherSchema(pool);
}

interface Login {
  readonly name: string;
  readonly rights: string | null;
}

/**
 * Rights of the login of `pool` beyond those of our roles, in words for the operator; null without any. Row-level security holds
 * in either case; but a statement that got out of its role would have those rights.
 */
export async function excessiveRights(pool: pg.Pool): Promise<string | null> {
  const { rows } = await pool.query<Login>(`
    select rolname as name, case
        when rolsuper then 'is a superuser'
        when rolbypassrls then 'passes row-level security (BYPASSRLS)'
        when exists (select 1 from pg_namespace n where n.nspname = 'platform' and pg_has_role(r.oid, n.nspowner, 'MEMBER'))
          then 'owns the schema'
        when pg_has_role(r.oid, 'mailwright_app', 'USAGE') or pg_has_role(r.oid, 'mailwright_system', 'USAGE')
          then 'inherits the rights of our roles'
      end as rights
    from pg_roles r where rolname = session_user`);
  const [login] = rows;
  if (login === undefined || login.rights === null) return null;
  return (
    `The login ${login.name} of DATABASE_URL ${login.rights}. Give that one to \`migrate\` alone, as DATABASE_OWNER_URL, ` +
    'and another to DATABASE_URL, which `migrate` then makes (docs/database.md#logins).'
  );
}

/** Too small for the rows below, which therefore go to the disk. */
const WORK_MEM = '64kB';
const ROWS = 20_000;

/** Rejects when the server takes no writes, or has no room for them: a temporary file is a write that leaves nothing behind. */
export async function refuseReadOnly(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`begin; set local work_mem = '${WORK_MEM}'`);
    const { rows } = await client.query<{ mode: string }>(
      `select current_setting('transaction_read_only') as mode, count(*) from generate_series(1, ${ROWS})`,
    );
    await client.query('commit');
    if (rows[0]?.mode !== 'off') throw new ReadOnlyError('PostgreSQL can only be read.');
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}

class ReadOnlyError extends Error {
  readonly code = '25006';
}
