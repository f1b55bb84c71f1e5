import type pg from 'pg';
import { type MigrationFile, migrationNames } from './migration-files.js';
import { UnfitDatabaseError } from './unfit-database.error.js';

/** Where the database keeps the names of what was applied. */
export const MIGRATIONS_TABLE = 'schema_migrations';

const NAMED = 3;

/** The database is older than this program. */
export class PendingMigrationsError extends UnfitDatabaseError {
  constructor(readonly pending: readonly string[]) {
    super(`The database lacks migrations: ${some(pending)}. Run \`npm run migrate\` first.`);
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

/** A migration that was applied is another one now. */
export class ChangedMigrationsError extends UnfitDatabaseError {
  constructor(readonly changed: readonly string[]) {
    super(
      `Migrations were changed after they were applied: ${some(changed)}. Bring back the files as they were, ` +
        'and put the change into a new file.',
    );
  }
}

/** What this version has and the database has not, and the other way round. */
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

/** Notes what the files were like that are applied now. */
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
