import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { SegmentsQuery, SubscriberRulesService } from '#audience';
import {
  Clock,
  DomainValidationError,
  isUuid,
  newId,
  NotFoundError,
  type ProjectScope,
  UnavailableError,
} from '#kernel';
import {
  before,
  type Config,
  CONFIG,
  Database,
  enqueue,
  jobType,
  LinkTokens,
  Periodic,
  removeOldRows,
} from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import {
  type DataExport,
  type DataExportView,
  type ExportFormat,
  type ExportKind,
  type ExportOrder,
  EXPORTS_AN_HOUR,
  FILE_KEPT_MS,
  TooManyExportsError,
} from './data-export.js';

/** Writes the file of an export. */
export const exportData = jobType<{ exportId: string }>('exports.data', 'exports');

const HOUR_MS = 60 * 60_000;
/** The export itself stays to be looked at, without its file. */
const KEPT_MS = 30 * 24 * HOUR_MS;

/** A file that can be taken, part by part. */
export interface ExportedFile {
  readonly what: ExportKind;
  readonly format: ExportFormat;
  readonly createdAt: Date;
  readonly parts: AsyncIterable<string>;
}

/** Takes orders of files with a project's data, shows how far they are and hands them out; the worker writes them. */
@Injectable()
export class DataExportsService {
  constructor(
    private readonly database: Database,
    private readonly segments: SegmentsQuery,
    private readonly rules: SubscriberRulesService,
    private readonly tokens: LinkTokens,
    @Inject(CONFIG) private readonly config: Pick<Config, 'PUBLIC_URL'>,
    private readonly clock: Clock,
  ) {}

  /**
   * Queues an export. The same order again while none of it is written is the same export; one that is being written shows an
   * earlier moment, so another is made. Throws DomainValidationError, TooManyExportsError.
   */
  order(scope: ProjectScope, { what, format, segmentKey, isMasked }: ExportOrder): Promise<DataExportView> {
    return this.database.transaction(scope, async () => {
      const segmentId = segmentKey === undefined ? null : await this.#segmentId(scope, segmentKey);
      const tables = this.database.tables<MessagingTables>();
      const queued = await tables
        .selectFrom('messaging.data_exports')
        .selectAll()
        .where('environmentId', '=', scope.environmentId)
        .where('what', '=', what)
        .where('format', '=', format)
        .where('isMasked', '=', isMasked)
        .where('segmentId', 'is not distinct from', segmentId)
        .where('status', '=', 'QUEUED')
        .limit(1)
        .forUpdate()
        .executeTakeFirst();
      if (queued !== undefined) return this.#viewOf(queued);
      const now = this.clock.now();
      await this.#refuseTooMany(scope, now);
      const id = newId();
      const made = await tables
        .insertInto('messaging.data_exports')
        .values({
          id,
          environmentId: scope.environmentId,
          what,
          format,
          segmentId,
          segmentKey: segmentKey ?? null,
          isMasked,
          createdAt: now,
          updatedAt: now,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      await enqueue(this.database, scope, exportData({ exportId: id }));
      return this.#viewOf(made);
    });
  }

  /** Throws NotFoundError. */
  async get(scope: ProjectScope, id: string): Promise<DataExportView> {
    return this.#viewOf(await this.#find(scope, id));
  }

  /** The file, while it is kept. Throws NotFoundError. */
  async file(scope: ProjectScope, id: string): Promise<ExportedFile> {
    const found = await this.#find(scope, id);
    if (!this.#hasFile(found)) throw new NotFoundError();
    const { what, format, createdAt } = found;
    return { what, format, createdAt, parts: this.#parts(scope, found) };
  }

  async *#parts(scope: ProjectScope, { id, run, parts }: DataExport): AsyncGenerator<string> {
    for (let part = 0; part < parts; part += 1) {
      const [row] = await this.database.statement(
        scope,
        sql<{ content: string }>`select content from messaging.data_export_parts
          where environment_id = ${scope.environmentId} and export_id = ${id} and run = ${run} and part = ${part}`,
      );
      // Removed while a very slow client was reading: the answer breaks off, so that nobody takes it for the whole file.
      if (row === undefined) throw new UnavailableError('The export has expired.', 1);
      yield row.content;
    }
  }

  async #find(scope: ProjectScope, id: string): Promise<DataExport> {
    if (!isUuid(id)) throw new NotFoundError();
    return this.database.transaction(scope, () =>
      this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.data_exports')
        .selectAll()
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', id)
        .executeTakeFirstOrThrow(() => new NotFoundError()),
    );
  }

  #hasFile({ status, expiresAt }: DataExport): boolean {
    return status === 'COMPLETED' && expiresAt !== null && expiresAt > this.clock.now();
  }

  #viewOf(found: DataExport): DataExportView {
    const { id, environmentId, status, rows, expiresAt } = found;
    const token = () => this.tokens.sign({ kind: 'export', environmentId, id, expiresAt });
    const url = this.#hasFile(found) ? `${this.config.PUBLIC_URL}/e/${token()}` : null;
    return { ...found, rows: status === 'COMPLETED' ? rows : null, url };
  }

  /** Throws DomainValidationError for a segment that is unknown, or whose rules can no longer be answered: nobody would be in it. */
  async #segmentId(scope: ProjectScope, segmentKey: string): Promise<string> {
    const segment = await this.segments.find(scope, segmentKey);
    if (segment === null) throw new DomainValidationError({ segmentKey: 'is not a known segment' });
    const [fault] = await this.rules.faultsOf(scope, [segment.id]);
    if (fault !== undefined)
      throw new DomainValidationError({ segmentKey: `has rules that are no longer valid: ${fault.fault}` });
    return segment.id;
  }

  async #refuseTooMany({ environmentId }: ProjectScope, now: Date): Promise<void> {
    const recent = await this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.data_exports')
      .select('createdAt')
      .where('environmentId', '=', environmentId)
      .where('createdAt', '>', new Date(now.getTime() - HOUR_MS))
      .orderBy('createdAt', 'desc')
      .limit(EXPORTS_AN_HOUR)
      .execute();
    const earliest = recent[EXPORTS_AN_HOUR - 1];
    if (earliest === undefined) return;
    throw new TooManyExportsError((earliest.createdAt.getTime() + HOUR_MS - now.getTime()) / 1_000);
  }

  /** Removes files that have expired or that nobody has gone on with for an hour, and old exports. */
  @Periodic('remove-old-data-exports', { everyMs: 60_000 })
  removeOld(): Promise<void> {
    const now = this.clock.now();
    return removeOldRows(
      this.database,
      {
        table: 'messaging.data_export_parts',
        where: sql`not exists (
          select 1 from messaging.data_exports x
          where x.environment_id = data_export_parts.environment_id and x.id = data_export_parts.export_id
            and (x.expires_at > ${now} or x.expires_at is null and x.updated_at > ${before(now, FILE_KEPT_MS)})
        )`,
      },
      { table: 'messaging.data_exports', where: sql`created_at < ${before(now, KEPT_MS)}` },
    );
  }
}
