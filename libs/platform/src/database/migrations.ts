import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Migration, Migrator } from '@mikro-orm/migrations';
import { MikroORM, type Options } from '@mikro-orm/postgresql';
import pg from 'pg';
import { projectRoot } from '../project-root.js';
import { refuseOldServer } from './server-version.js';

/** BullMQ's own tables, when PostgreSQL is its backend. */
export const QUEUE_SCHEMA = 'bullmq';

type MigrationList = NonNullable<NonNullable<Options['migrations']>['migrationsList']>;

const SEED_FILE = /^([a-z_]+)\.([a-z_]+)\.json$/;
const MIGRATIONS_TABLE = 'schema_migrations';
const NAMED = 3;

/**
 * Brings the database to this version's schema: our SQL files in the order of their names, then the
 * queue's tables and the seeds. Run by the deploy step with the owner's connection; safe to run again and in parallel.
 * Resolves to the names of what was applied.
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const lock = new pg.Client({ connectionString: databaseUrl });
  // The query that was under way tells of a lost connection.
  lock.on('error', () => undefined);
  await lock.connect();
  try {
    await refuseOldServer(lock);
    await lock.query(`select pg_advisory_lock(hashtext('mailwright.migrations'))`);
    const applied = await withMigrator(databaseUrl, async (migrator) =>
      (await migrator.up()).map(({ name }) => name),
    );
    await seed(lock);
    await migrateQueue(databaseUrl);
    return applied;
  } finally {
    await lock.end();
  }
}

/** The migrations that this version has and the database has not. */
export async function pendingMigrations(pool: pg.Pool): Promise<string[]> {
  const files = await sqlFiles();
  const { rows } = await pool.query<{ present: boolean }>(
    `select to_regclass('public.${MIGRATIONS_TABLE}') is not null as present`,
  );
  if (rows[0]?.present !== true) return files.map(nameOf);
  const executed = await pool.query<{ name: string }>(`select name from public.${MIGRATIONS_TABLE}`);
  const names = new Set(executed.rows.map(({ name }) => name));
  return files.map(nameOf).filter((name) => !names.has(name));
}

/** The database is older than this program. */
export class PendingMigrationsError extends Error {
  constructor(readonly pending: readonly string[]) {
    const named = pending.slice(0, NAMED).join(', ');
    const more = pending.length > NAMED ? ` and ${pending.length - NAMED} more` : '';
    super(`The database lacks migrations: ${named}${more}. Run \`npm run migrate\` first.`);
  }
}

/** Throws `PendingMigrationsError` unless the database has this version's schema, and `OldServerError`. */
export async function refusePendingMigrations(pool: pg.Pool): Promise<void> {
  await refuseOldServer(pool);
  const pending = await pendingMigrations(pool);
  if (pending.length > 0) throw new PendingMigrationsError(pending);
}

async function withMigrator<T>(databaseUrl: string, work: (migrator: Migrator) => Promise<T>): Promise<T> {
  const orm = await MikroORM.init({
    clientUrl: databaseUrl,
    entities: [],
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    ensureDatabase: false,
    migrations: {
      tableName: MIGRATIONS_TABLE,
      migrationsList: await migrationsFromSql(),
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

async function migrationsFromSql(): Promise<MigrationList> {
  const files = await sqlFiles();
  return Promise.all(
    files.map(async (file) => {
      const statements = await readFile(join(projectRoot(), 'migrations', file), 'utf8');
      class SqlMigration extends Migration {
        override up(): void {
          this.addSql(statements);
        }
      }
      return { name: nameOf(file), class: SqlMigration };
    }),
  );
}

/**
 * Gives every data file to the function of its name: `seeds/billing.plans.json` to `billing.seed_plans(jsonb)`, which
 * changes only what differs.
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

async function sqlFiles(): Promise<string[]> {
  const entries = await readdir(join(projectRoot(), 'migrations'));
  return entries.filter((entry) => entry.endsWith('.sql')).sort();
}

function nameOf(file: string): string {
  return file.replace(/\.sql$/, '');
}

async function migrateQueue(databaseUrl: string): Promise<void> {
  // Loaded here alone: a process that only asks what is pending does without BullMQ.
  const { runMigrations: runQueueMigrations } = await import('bullmq');
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  // As above: the query under way tells.
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
