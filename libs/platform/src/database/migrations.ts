import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Migration, Migrator } from '@mikro-orm/migrations';
import { MikroORM, type Options } from '@mikro-orm/postgresql';
import pg from 'pg';
import { projectRoot } from '../project-root.js';
import { databaseFailure, SQL_STATE, sqlStateOf, UnfitDatabaseError } from './database-failure.js';
import {
  type MigrationFile,
  migrationFiles,
  MIGRATIONS_TABLE,
  recordDigests,
  refuseOldServer,
  refuseOtherHistory,
} from './fit-database.js';

const ROLES = ['mailwright_app', 'mailwright_system'] as const;
/** From this version on a membership itself says whether it is inherited. */
const GRANTS_SAY_INHERIT = 160_000;

interface Found {
  readonly exists: boolean;
  readonly may: boolean;
  readonly version: number;
}

/** Lets the login of `url` become our roles, and nothing else; makes it where it is missing. Needs CREATEROLE. */
export async function ensureRuntimeLogin(owner: pg.Client, url: string): Promise<void> {
  const { username, password } = new URL(url);
  const [name, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
  if (name === '' || name === owner.user) return;
  const { rows } = await owner.query<Found>(
    `select exists (select 1 from pg_roles where rolname = $1) as exists,
       current_setting('server_version_num')::int as version,
       coalesce((select bool_and(pg_has_role(r.oid, wanted, 'MEMBER')) from pg_roles r, unnest($2::text[]) wanted
         where r.rolname = $1), false) as may`,
    [name, ROLES],
  );
  const found = rows[0]!;
  const login = owner.escapeIdentifier(name);
  if (!found.exists) {
    await owner.query(`create role ${login} login noinherit password ${owner.escapeLiteral(secret)}`);
  }
  const inherit = found.version >= GRANTS_SAY_INHERIT ? ' with inherit false, set true' : '';
  if (!found.may) await owner.query(`grant ${ROLES.join(', ')} to ${login}${inherit}`);
}

/** BullMQ's own tables, when PostgreSQL is its backend. */
export const QUEUE_SCHEMA = 'bullmq';
/** The advisory lock of whoever changes the schema. */
export const MIGRATIONS_LOCK = `hashtext('mailwright.migrations')`;

/** Lets the owner see rows in spite of row-level security: `platform.is_owner_at_work`. */
const OWNER_WORKS = `set mailwright.owner = 'on'`;
const FORCE_POLICIES = `do $$ begin
  if to_regproc('platform.force_policies') is not null then call platform.force_policies(); end if;
end $$`;

type MigrationList = NonNullable<NonNullable<Options['migrations']>['migrationsList']>;

/** A file's statements were refused. */
export class MigrationFailedError extends Error {
  constructor(file: MigrationFile, cause: Error & { readonly position?: string }) {
    const before = cause.position === undefined ? '' : file.statements.slice(0, Number(cause.position));
    const line = before === '' ? '' : `, line ${before.split('\n').length},`;
    const [reason] = cause.message.split('\n').slice(-1);
    const advice =
      sqlStateOf(cause) === SQL_STATE.insufficientPrivilege
        ? '. The owner of the schema needs CREATEROLE, and CREATE on the database (docs/database.md#logins).'
        : '';
    super(`migrations/${file.name}.sql${line} failed, and nothing was applied: ${reason}${advice}`, {
      cause,
    });
  }
}

const IDENTITY_LIMIT_MS = 5_000;
const SEED_FILE = /^([a-z_]+)\.([a-z_]+)\.json$/;

/**
 * Brings the database to this version's schema: SQL files in the order of their names, seeds, the queue's tables and the login of
 * `databaseUrl`. Run by the deploy step; safe to run again and in parallel. `ownerUrl` is a superuser's, or of a login with
 * CREATEROLE and CREATE on the database. Resolves to the names of what was applied. Throws an `UnfitDatabaseError` where the
 * database has another history, and a `MigrationFailedError`.
 */
export async function migrate(ownerUrl: string, databaseUrl = ownerUrl): Promise<string[]> {
  const lock = new pg.Client({ connectionString: ownerUrl, application_name: 'mailwright-migrate' });
  // A lost connection shows in the query under way.
  lock.on('error', () => undefined);
  await lock.connect();
  try {
    await refuseOldServer(lock);
    await lock.query(`select pg_advisory_lock(${MIGRATIONS_LOCK})`);
    const files = await migrationFiles();
    await refuseOtherHistory(lock, files);
    const applied = await applyAll(ownerUrl, files);
    await recordDigests(lock, files);
    await lock.query(OWNER_WORKS);
    await lock.query(FORCE_POLICIES);
    await seed(lock);
    await migrateQueue(ownerUrl);
    await ensureRuntimeLogin(lock, databaseUrl);
    return applied;
  } finally {
    await lock.end();
  }
}

/**
 * Throws an `UnfitDatabaseError` where the URLs lead to different databases. A login that cannot connect tells nothing: the first
 * `migrate` makes it.
 */
export async function refuseOtherDatabase(ownerUrl: string, databaseUrl: string): Promise<void> {
  const [owners, programs] = await Promise.all([identityOf(ownerUrl), identityOf(databaseUrl)]);
  if (owners === null || programs === null || isDeepStrictEqual(owners, programs)) return;
  throw new UnfitDatabaseError(
    `DATABASE_OWNER_URL leads to the database ${owners.name}, and DATABASE_URL to another, ${programs.name}: both have to name the same.`,
  );
}

interface DatabaseIdentity {
  readonly name: string;
  readonly oid: string;
  readonly startedAt: string;
}

async function identityOf(connectionString: string): Promise<DatabaseIdentity | null> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: IDENTITY_LIMIT_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<DatabaseIdentity>(
      `select datname as name, oid::text, extract(epoch from pg_postmaster_start_time())::text as "startedAt"
       from pg_database where datname = current_database()`,
    );
    return rows[0] ?? null;
  } catch {
    return null;
  } finally {
    await client.end();
  }
}

async function applyAll(ownerUrl: string, files: readonly MigrationFile[]): Promise<string[]> {
  let begun: MigrationFile | undefined;
  const list = files.map((file) => migrationOf(file, () => (begun = file)));
  return withMigrator(ownerUrl, list, async (migrator) => {
    try {
      return (await migrator.up()).map(({ name }) => name);
    } catch (error) {
      const isOurs = begun !== undefined && error instanceof Error;
      if (!isOurs || databaseFailure(error)?.code === 'unavailable') throw error;
      throw new MigrationFailedError(begun!, error);
    }
  });
}

async function withMigrator<T>(
  databaseUrl: string,
  migrationsList: MigrationList,
  work: (migrator: Migrator) => Promise<T>,
): Promise<T> {
  const orm = await MikroORM.init({
    clientUrl: databaseUrl,
    entities: [],
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    ensureDatabase: false,
    migrations: {
      tableName: MIGRATIONS_TABLE,
      migrationsList,
      allOrNothing: true,
      snapshot: false,
      silent: true,
      disableForeignKeys: false,
    },
  });
  try {
    const migrator = orm.migrator;
    if (!(migrator instanceof Migrator)) throw new Error('The migrator is not registered.');
    const result = await work(migrator);
    await orm.em.execute(`grant select on public.${MIGRATIONS_TABLE} to mailwright_app, mailwright_system`);
    await orm.close(true);
    return result;
  } catch (error) {
    // Not waited for: where a connection was lost in a transaction, the pool never closes.
    void orm.close(true).catch(() => undefined);
    throw error;
  }
}

function migrationOf({ name, statements }: MigrationFile, onBegin: () => void): MigrationList[number] {
  class SqlMigration extends Migration {
    override up(): void {
      onBegin();
      this.addSql(OWNER_WORKS);
      this.addSql(statements);
      this.addSql(FORCE_POLICIES);
    }
  }
  return { name, class: SqlMigration };
}

/**
 * Gives each data file to the function of its name, which changes only what differs: `billing.plans.json` to
 * `billing.seed_plans`.
 */
async function seed(client: pg.Client): Promise<void> {
  const directory = join(projectRoot(), 'migrations/seeds');
  for (const file of (await readdir(directory)).sort()) {
    const [, schema, data] = SEED_FILE.exec(file) ?? [];
    if (schema === undefined || data === undefined) throw new Error(`${file} is not called like a seed.`);
    await client.query(`select ${schema}.seed_${data}($1::jsonb)`, [
      await readFile(join(directory, file), 'utf8'),
    ]);
  }
}

async function migrateQueue(databaseUrl: string): Promise<void> {
  // Loaded here alone, since a process may do without BullMQ.
  const { runMigrations: runQueueMigrations } = await import('bullmq');
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  pool.on('error', () => undefined);
  try {
    await runQueueMigrations(pool, QUEUE_SCHEMA);
    await pool.query(`
      -- CREATE, since it makes a sequence for each queue when the queue is first used.
      grant usage, create on schema ${QUEUE_SCHEMA} to mailwright_system;
      grant select, insert, update, delete on all tables in schema ${QUEUE_SCHEMA} to mailwright_system;
      grant usage, select on all sequences in schema ${QUEUE_SCHEMA} to mailwright_system;
      grant execute on all functions in schema ${QUEUE_SCHEMA} to mailwright_system;
    `);
  } finally {
    await pool.end();
  }
}
