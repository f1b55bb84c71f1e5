import type { ConsentProof } from '../consents/consent-proof.js';
import type { SubscriberFields } from '../subscribers/subscriber.js';
import type { ColumnTarget } from './import-columns.js';

export const IMPORT_STATUSES = ['QUEUED', 'IN_PROGRESS', 'COMPLETED', 'FAILED'] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

/** What happens to a row whose address a subscriber has: it changes the subscriber, or nothing. */
export const IMPORT_CONFLICTS = ['UPSERT', 'SKIP'] as const;
export type ImportConflict = (typeof IMPORT_CONFLICTS)[number];

/** How many rows came, and what became of those that are done. */
export interface ImportCounts {
  readonly total: number;
  /** Made a new subscriber. */
  readonly created: number;
  /** Were applied to a subscriber who was there. */
  readonly updated: number;
  /** Were left out by rule: the address was there (SKIP), is suppressed, or comes again in a later row. */
  readonly skipped: number;
  /** Had faults. */
  readonly failed: number;
}

/** What became of some rows. */
export type ImportProgress = Omit<ImportCounts, 'total'>;

/** An import as clients see it. */
export type ImportView = Readonly<
  Pick<Import, 'id' | 'counts' | 'failureReason' | 'createdAt' | 'completedAt'>
> & { readonly status: ImportStatus };

/** A file or list of subscribers on its way into a project. Nobody sees it while its rows are RECEIVING. */
export class Import {
  readonly onConflict: ImportConflict;
  readonly topicKeys: readonly string[];
  readonly proof: ConsentProof;
  status: ImportStatus | 'RECEIVING' = 'RECEIVING';
  readonly columns: readonly ColumnTarget[] = [];
  /** Of the custom fields by which the rows were checked as they came; null: by none. */
  readonly definitionsDigest: string | null = null;
  readonly total: number = 0;
  readonly created: number = 0;
  readonly updated: number = 0;
  skipped = 0;
  readonly failed: number = 0;
  /** Why it could not go on; null unless FAILED. */
  failureReason: string | null = null;
  completedAt: Date | null = null;

  constructor(
    readonly id: string,
    readonly environmentId: number,
    order: Pick<Import, 'onConflict' | 'topicKeys' | 'proof'>,
    readonly createdAt: Date,
  ) {
    this.onConflict = order.onConflict;
    this.topicKeys = order.topicKeys;
    this.proof = order.proof;
  }

  get counts(): ImportCounts {
    const { total, created, updated, skipped, failed } = this;
    return { total, created, updated, skipped, failed };
  }

  /** All its rows are stored. */
  queue(stored: Pick<Import, 'columns' | 'definitionsDigest' | 'total'>): void {
    Object.assign(this, stored, { status: 'QUEUED' });
  }

  /** Of its rows so many have the address of a later one, which counts. */
  begin(repeated: number): void {
    this.status = 'IN_PROGRESS';
    this.skipped += repeated;
  }

  /** COMPLETED, or FAILED for a reason. */
  end(failureReason: string | null, at: Date): void {
    this.status = failureReason === null ? 'COMPLETED' : 'FAILED';
    this.failureReason = failureReason;
    this.completedAt = at;
  }
}

/** What there is to say of one row. */
export interface ImportError {
  /** Counted from 1, without the header and empty lines. */
  readonly row: number;
  readonly email: string | null;
  /** Column → what is wrong with it, or why it did nothing; `row` for the row as a whole. */
  readonly errors: Readonly<Record<string, string>>;
}

/** The subscriber whom a row makes of an address that is new. */
export interface StagedSubscriber extends SubscriberFields {
  readonly email: string;
}

/** A row as it waits for the worker. */
export interface StagedRow {
  readonly row: number;
  /** What two spellings of one mailbox share; null where there is no valid address. */
  readonly emailKey: string | null;
  /** One value a column, as they came: text, or JSON values. Empty text is no value, null clears. */
  readonly cells: readonly unknown[];
  /** Why the row cannot be read. */
  readonly fault: string | null;
}

/** A row as it came, and what checking it gave. */
export interface CheckedRow extends StagedRow {
  /** By the custom fields of that moment; null where the row makes none. */
  readonly newSubscriber: StagedSubscriber | null;
}

/** Where an error of a whole row stands in its `errors`. */
export const WHOLE_ROW = 'row';
