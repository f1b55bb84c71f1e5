import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, DomainValidationError, newId, type ProjectScope, UnavailableError } from '#kernel';
import { AuditTrail, before, Database, Periodic, removeOldRows } from '#platform';
import { type ConsentDetails, consentProof, type SuppressionReason } from '../consents/consent.js';
import { definitionsDigest } from '../custom-fields/custom-field-values.js';
import { CustomFieldsQuery } from '../custom-fields/custom-field.repository.js';
import { topicKeyFaults } from '../topics/topic.js';
import { TopicRepository } from '../topics/topic.repository.js';
import {
  type ColumnMapping,
  type ColumnRules,
  type ColumnTarget,
  SUPPRESSION_COLUMNS,
  SYSTEM_COLUMNS,
} from './import-columns.js';
import { batchesOf, type ImportBatch, type ImportContent } from './import-content.js';
import { Import, type ImportConflict, type ImportView } from './import.js';
import { ImportRepository } from './import.repository.js';
import { StagedRowsRepository } from './staged-rows.repository.js';

/** A client's options of an import, beside its rows. */
export interface ImportOptions {
  readonly topicKeys: readonly string[];
  readonly consent: ConsentDetails;
  readonly onConflict: ImportConflict;
  readonly resubscribe: boolean;
  readonly mapping: ColumnMapping;
  /** Notes about the whole import: path → the part that is not kept. */
  readonly notes: Readonly<Record<string, string>>;
}

/** A client's options of a file of addresses to suppress. */
export interface SuppressionImportOptions {
  /** Reason of rows that name none. */
  readonly reason: SuppressionReason;
  readonly mapping: ColumnMapping;
}

interface OpenedImport {
  readonly batches: AsyncIterable<ImportBatch> | Iterable<ImportBatch>;
  readonly definitionsDigest: string;
}

/** Longer than the longest request. */
const ABANDONED_AFTER_MS = 60 * 60_000;
const ERRORS_KEPT_MS = 30 * 24 * 60 * 60_000;

/** Accepts imports: their rows are stored, and a worker applies them. */
@Injectable()
export class ImportsService {
  constructor(
    private readonly database: Database,
    private readonly topics: TopicRepository,
    private readonly customFields: CustomFieldsQuery,
    private readonly imports: ImportRepository,
    private readonly staged: StagedRowsRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Stores all rows and queues the import. Removes everything again when that fails or `signal` is aborted. Throws
   * DomainValidationError, ImportNotReadableError, UnavailableError.
   */
  async accept(
    scope: ProjectScope,
    options: ImportOptions,
    content: ImportContent,
    signal: AbortSignal,
  ): Promise<ImportView> {
    const { topicKeys, onConflict, resubscribe, consent, mapping, notes } = options;
    const topics = await this.topics.named(scope, topicKeys);
    const errors = topicKeyFaults([...topics.values()], topicKeys);
    const rules = {
      columns: SYSTEM_COLUMNS,
      mapping,
      definitions: await this.customFields.definitions(scope),
    };
    if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
    const order = { onConflict, topicKeys: [...new Set(topicKeys)], resubscribe, suppressionReason: null };
    return this.#receive(scope, { order, consent, notes }, openedWith(rules, content), signal);
  }

  /** The same for a file of addresses to suppress. */
  acceptSuppressions(
    scope: ProjectScope,
    { reason, mapping }: SuppressionImportOptions,
    content: ImportContent,
    signal: AbortSignal,
  ): Promise<ImportView> {
    const order = {
      onConflict: 'SKIP',
      topicKeys: [],
      resubscribe: false,
      suppressionReason: reason,
    } as const;
    const rules = { columns: SUPPRESSION_COLUMNS, mapping, definitions: [] };
    const what = { order, consent: { source: 'suppression-import' }, notes: {} };
    return this.#receive(scope, what, openedWith(rules, content), signal);
  }

  async #receive(
    scope: ProjectScope,
    {
      order,
      consent,
      notes,
    }: Pick<ImportOptions, 'consent' | 'notes'> & {
      readonly order: Pick<Import, 'onConflict' | 'topicKeys' | 'resubscribe' | 'suppressionReason'>;
    },
    opened: OpenedImport,
    signal: AbortSignal,
  ): Promise<ImportView> {
    const importId = newId();
    const createdAt = this.clock.now();
    const proof = consentProof('IMPORT', importId, consent);
    const added = new Import(importId, scope.environmentId, { ...order, proof }, createdAt);
    // The file is not read yet: the entry of the audit log is that of its queueing.
    await AuditTrail.apart(() => this.imports.add(scope, added, notes));
    try {
      const total = await this.#store(scope, importId, opened, signal);
      const counts = { ...added.counts, total };
      return { id: importId, status: 'QUEUED', counts, failureReason: null, createdAt, completedAt: null };
    } catch (error) {
      // A failed removal is repeated by the task for abandoned imports; the client must get the first error.
      await AuditTrail.apart(() => this.imports.discard(scope, importId)).catch(() => undefined);
      throw error;
    }
  }

  async #store(
    scope: ProjectScope,
    importId: string,
    { batches, definitionsDigest: digest }: OpenedImport,
    signal: AbortSignal,
  ): Promise<number> {
    const writer = this.staged.writer(scope, importId);
    let columns: readonly ColumnTarget[] = [];
    const store = async () => {
      for await (const batch of batches) {
        refuseAborted(signal);
        columns = batch.columns;
        await writer.write(batch.rows);
      }
      await writer.flush();
    };
    try {
      await AuditTrail.apart(store);
    } finally {
      // Wait for rows in transmission before removing them.
      await writer.abandon();
    }
    refuseAborted(signal);
    const total = writer.rows;
    if (!(await this.imports.queue(scope, importId, { columns, definitionsDigest: digest, total }))) {
      throw new UnavailableError('The rows took too long to arrive.', 1);
    }
    return total;
  }

  /** Removes rows of requests that died, and old errors and notes. */
  @Periodic('remove-old-imports', { everyMs: 10 * 60_000 })
  removeOld(): Promise<void> {
    const now = this.clock.now();
    const isAbandoned = sql`status = 'RECEIVING' and created_at < ${before(now, ABANDONED_AFTER_MS)}`;
    const isForgotten = sql`completed_at < ${before(now, ERRORS_KEPT_MS)}`;
    const of = (which: typeof isAbandoned) =>
      sql`(import_id, environment_id) in (select id, environment_id from audience.imports where ${which})`;
    return removeOldRows(
      this.database,
      { table: 'audience.import_rows', where: of(isAbandoned) },
      { table: 'audience.imports', where: isAbandoned },
      { table: 'audience.import_errors', where: of(isForgotten) },
    );
  }
}

function refuseAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new UnavailableError('The request ended before its rows were stored.', 1);
}

const openedWith = (rules: ColumnRules, content: ImportContent): OpenedImport => ({
  batches: batchesOf(content, rules),
  definitionsDigest: definitionsDigest(rules.definitions),
});
