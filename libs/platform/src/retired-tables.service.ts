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

/** What is let go by the same day: mails, the steps of automations, events. */
export type RetentionKind = 'DELIVERIES' | 'STEPS' | 'EVENTS';

/** The day, `YYYY-MM-DD`, from which on rows of an environment are kept; `-infinity` when nothing was let go. */
export const keptFrom = (kind: RetentionKind, environmentId: unknown): RawBuilder<string> =>
  sql<string>`platform.kept_from(${kind}, ${environmentId})`;

/** The same, asked in the open transaction before it is compared with rows: the node of the rows does not know the day. */
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
  /** Of the files, without their ends. */
  readonly name: string;
  /** What the manifest tells beside counts and digest. */
  readonly about: object;
}

/** For whoever runs the worker alone: there may be personal data in it. */
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

/** One's own, so that a worker who lost its connection while it wrote cannot spoil the file of the next. */
const partOf = (directory: string, name: string) =>
  join(directory, `${name}.${process.pid}-${Date.now()}${PART}`);

/** What a worker left that was killed. */
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

/** The tables of which old months are let go. */
const TABLES = [
  'messaging.delivery_engagement',
  'messaging.deliveries',
  'messaging.automation_steps',
  'messaging.delivery_events',
  'audience.subscriber_events',
];
/** What an erasure could not reach in a file: whose mail it was, and what their server said. */
const NOT_ARCHIVED = ['address', 'address_key', 'last_error'];
/** Keeps two workers from archiving one table. */
const ARCHIVE_LOCK = 7_240_613;

interface RetiredTable {
  readonly name: string;
  /** Which months of which table: platform.retire_oldest. */
  readonly about: string;
  readonly columns: readonly string[];
}

/** Takes months that are let go out of their tables, one after the other, archives and drops them. */
@Injectable()
export class RetiredTablesService {
  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Until nothing is left to do, or `signal` says stop. It can be killed anywhere: what is detached waits in the schema `retired`
   * until its file is complete. A table that somebody has locked is left for the next time.
   */
  async clear(signal: AbortSignal): Promise<void> {
    await this.#refuseWithoutDirectory();
    await this.#archiveAll(signal);
    for (const table of TABLES)
      while (!signal.aborted && (await this.#retireOldest(table))) await this.#archiveAll(signal);
  }

  /** Rather than detach what cannot be archived: an erasure does not look there. */
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
            where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attname <> all (${NOT_ARCHIVED}::text[])
            order by a.attnum) as columns
        from pg_class c where c.relnamespace = 'retired'::regnamespace and c.relkind = 'r' order by c.oid
      `.execute(this.database.tables());
      return rows;
    });
  }

  /** The table is dropped when the file is on the disk, and not before. Nobody writes to it. */
  #archive(table: RetiredTable, signal: AbortSignal): Promise<void> {
    return this.database.onOwnConnection(async (client) => {
      if (!(await isMine(client, table))) return;
      const rows = await this.#write(client, table, signal);
      await client.query('select platform.drop_retired($1)', [table.name]);
      this.logger.info({ table: table.name, rows }, 'a month of old rows is let go');
    });
  }

  /** How many rows; null without an archive. */
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

/** Until the connection is closed. False when another worker has it, or had. */
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
