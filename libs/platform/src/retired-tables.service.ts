import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { access, constants, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ClientBase } from 'pg';
import type { Logger } from 'pino';
import type { ProjectScope } from '#kernel';
import type { Config } from './config.js';
import { copyOut } from './database/copy.js';
import { SQL_STATE, sqlStateOf } from './database/database-failure.js';
import { Database } from './database/database.js';
import { CONFIG, LOGGER } from './platform.module.js';

/** Rows with a cutoff of their own: mails, steps of automations, events. */
export type RetentionKind = 'DELIVERIES' | 'STEPS' | 'EVENTS';

/** The day, `YYYY-MM-DD`, from which on rows of an environment are kept; `-infinity` when nothing was let go. */
export const keptFrom = (kind: RetentionKind, environmentId: unknown): RawBuilder<string> =>
  sql<string>`platform.kept_from(${kind}, ${environmentId})`;

/** The same, asked in the open transaction, since on a cluster the node of the rows does not know it. */
export async function keptDay(
  database: Database,
  { environmentId }: Pick<ProjectScope, 'environmentId'>,
  kind: RetentionKind,
): Promise<string> {
  const { rows } = await sql<{ day: string }>`select ${keptFrom(kind, environmentId)} as day`.execute(
    database.tables(),
  );
  return rows[0]!.day;
}

/** Rows as CSV with their columns' names in the first line; `rows` is known once it was read. */
export type ArchivedRows = Readable & { readonly rows: number };

interface Archive {
  readonly directory: string;
  /** Name of the files, without extension. */
  readonly name: string;
  /** Content of the manifest beside counts and digest. */
  readonly about: object;
}

/** Readable by the worker's user alone: there may be personal data in it. */
const MODE = 0o600;
const PART = '.part';

/**
 * Writes `name.csv.gz`, then its manifest `name.json`, each under another name until it is whole and on the disk: where the
 * manifest is, the file is complete. Done again, it replaces both.
 */
export async function writeArchive(
  rows: ArchivedRows,
  { directory, name, about }: Archive,
  signal: AbortSignal,
): Promise<void> {
  await removeParts(directory, name);
  const file = `${name}.csv.gz`;
  const part = partOf(directory, name);
  const hash = createHash('sha256');
  let bytes = 0;
  const measure = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  };
  await pipeline(rows, createGzip(), measure, createWriteStream(part, { mode: MODE, flush: true }), {
    signal,
  });
  await rename(part, join(directory, file));
  const manifest = { file, ...about, rows: rows.rows, bytes, sha256: hash.digest('hex') };
  await writeFile(part, `${JSON.stringify(manifest, null, 2)}\n`, { mode: MODE, flush: true });
  await rename(part, join(directory, `${name}.json`));
  await flushDirectory(directory);
}

/** A name of its own, so that a worker that lost its connection cannot spoil the file of the next. */
const partOf = (directory: string, name: string) =>
  join(directory, `${name}.${process.pid}-${Date.now()}${PART}`);

/** Removes parts that a killed worker left. */
async function removeParts(directory: string, name: string): Promise<void> {
  const left = (await readdir(directory)).filter((file) => file.startsWith(name) && file.endsWith(PART));
  for (const file of left) await rm(join(directory, file), { force: true });
}

/** The new names are on the disk, too. */
async function flushDirectory(directory: string): Promise<void> {
  const handle = await open(directory);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Tables whose old months are removed. */
const TABLES = [
  'messaging.delivery_engagement',
  'messaging.deliveries',
  'messaging.automation_steps',
  'messaging.delivery_events',
  'audience.subscriber_events',
];
/** Columns that an erasure could not reach in a file: the recipient, and the words of their server. */
const NOT_ARCHIVED = ['address', 'address_key', 'last_error'];
/** Keeps two workers from archiving one table. */
const ARCHIVE_LOCK = 7_240_613;

interface RetiredTable {
  readonly name: string;
  /** Its months and former table: platform.retire_oldest. */
  readonly about: string;
  readonly columns: readonly string[];
}

/** Takes months past their retention out of their tables, one after the other, archives and drops them. */
@Injectable()
export class RetiredTablesService {
  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Works until nothing is left, or `signal` is aborted. It can be killed anywhere: detached months wait in the schema `retired`
   * until their file is complete. A table with a foreign lock is left for the next time.
   */
  async clear(signal: AbortSignal): Promise<void> {
    await this.#refuseWithoutDirectory();
    await this.#archiveAll(signal);
    for (const table of TABLES)
      while (!signal.aborted && (await this.#retireOldest(table))) await this.#archiveAll(signal);
  }

  /** Throws before a month is detached that cannot be archived: an erasure does not look there. */
  async #refuseWithoutDirectory(): Promise<void> {
    const { ARCHIVE_DIRECTORY } = this.config;
    if (ARCHIVE_DIRECTORY !== undefined) await access(ARCHIVE_DIRECTORY, constants.W_OK);
  }

  async #retireOldest(table: string): Promise<boolean> {
    const retired = await this.#unlessLocked(table, () =>
      this.database.onOwnConnection(async (client) => {
        const { rows } = await client.query<{ retired: boolean }>(
          'select platform.retire_oldest($1::regclass) as retired',
          [table],
        );
        return rows[0]?.retired;
      }),
    );
    return retired === true;
  }

  async #archiveAll(signal: AbortSignal): Promise<void> {
    for (const table of await this.#waiting()) {
      if (signal.aborted) return;
      await this.#unlessLocked(table.name, () => this.#archive(table, signal));
    }
  }

  #waiting(): Promise<RetiredTable[]> {
    return this.database.system(async () => {
      const { rows } = await sql<RetiredTable>`
        select c.relname as name, obj_description(c.oid, 'pg_class') as about,
          array(select a.attname::text from pg_attribute a
            where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
              and a.attname <> all (${NOT_ARCHIVED}::text[])
            order by a.attnum) as columns
        from pg_class c where c.relnamespace = 'retired'::regnamespace and c.relkind = 'r' order by c.oid
      `.execute(this.database.tables());
      return rows;
    });
  }

  /** Drops the table when the file is on the disk. Nobody writes to it. */
  #archive(table: RetiredTable, signal: AbortSignal): Promise<void> {
    return this.database.onOwnConnection(async (client) => {
      if (!(await isMine(client, table))) return;
      const rows = await this.#write(client, table, signal);
      await client.query('select platform.drop_retired($1)', [table.name]);
      this.logger.info({ table: table.name, rows }, 'a month of old rows is let go');
    });
  }

  /** Number of archived rows; null without an archive. */
  async #write(
    client: ClientBase,
    { name, about, columns }: RetiredTable,
    signal: AbortSignal,
  ): Promise<number | null> {
    const directory = this.config.ARCHIVE_DIRECTORY;
    if (directory === undefined) return null;
    const list = columns.map((column) => client.escapeIdentifier(column)).join(', ');
    const table = `retired.${client.escapeIdentifier(name)}`;
    const rows = copyOut(client, `copy (select ${list} from ${table}) to stdout with (format csv, header)`);
    await writeArchive(rows, { directory, name, about: { ...JSON.parse(about), columns } }, signal);
    return rows.rows;
  }

  async #unlessLocked<T>(table: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (sqlStateOf(error) !== SQL_STATE.lockNotAvailable) throw error;
      this.logger.warn({ table }, 'old months wait for a lock that somebody else holds; tried again later');
      return undefined;
    }
  }
}

/** Locks the table until the connection is closed. False when another worker has it, or had. */
async function isMine(client: ClientBase, { name }: RetiredTable): Promise<boolean> {
  const lock = await client.query<{ mine: boolean }>(
    'select pg_try_advisory_lock($1, hashtext($2)) as mine',
    [ARCHIVE_LOCK, name],
  );
  if (lock.rows[0]?.mine !== true) return false;
  const { rowCount } = await client.query(
    `select 1 from pg_class where relnamespace = 'retired'::regnamespace and relname = $1`,
    [name],
  );
  return rowCount === 1;
}
