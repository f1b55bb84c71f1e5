import { boundedErrors, DomainError } from '#kernel';
import type { ConsentProof, SuppressionReason } from '../consents/consent.js';
import type { SubscriberFields } from '../subscribers/subscriber.js';
import type { ColumnTarget } from './import-columns.js';

export const IMPORT_STATUSES = ['QUEUED', 'IN_PROGRESS', 'COMPLETED', 'FAILED'] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

/** Treatment of a row whose address belongs to a subscriber: update the subscriber, or skip the row. */
export const IMPORT_CONFLICTS = ['UPSERT', 'SKIP'] as const;
export type ImportConflict = (typeof IMPORT_CONFLICTS)[number];

/** The number of rows, and the outcomes of those that are done. */
export interface ImportCounts {
  readonly total: number;
  /** Created a subscriber. */
  readonly created: number;
  /** Updated an existing subscriber. */
  readonly updated: number;
  /** Skipped: the address exists (SKIP), is suppressed, or appears again in a later row. */
  readonly skipped: number;
  /** Had errors. */
  readonly failed: number;
}

/** The outcomes of some rows. */
export type ImportProgress = Omit<ImportCounts, 'total'>;

/** Imports of people, and of addresses that get no more mail. */
export type ImportKind = 'SUBSCRIBERS' | 'SUPPRESSIONS';

/** An import as clients see it. */
export type ImportView = Readonly<
  Pick<Import, 'id' | 'counts' | 'failureReason' | 'createdAt' | 'completedAt'>
> & { readonly status: ImportStatus };

/** An import of subscribers, or of addresses to suppress. Clients cannot see it while it is RECEIVING its rows. */
export class Import {
  readonly onConflict: ImportConflict;
  readonly topicKeys: readonly string[];
  /** Grants topics again that the address had unsubscribed from. */
  readonly resubscribe: boolean;
  readonly proof: ConsentProof;
  /** Reason of rows that name none; null for an import of subscribers. */
  readonly suppressionReason: SuppressionReason | null;
  status: ImportStatus | 'RECEIVING' = 'RECEIVING';
  readonly columns: readonly ColumnTarget[] = [];
  /** The digest of the custom fields with which the rows were checked on arrival; null: not checked. */
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
    order: Pick<Import, 'onConflict' | 'topicKeys' | 'resubscribe' | 'proof' | 'suppressionReason'>,
    readonly createdAt: Date,
  ) {
    this.onConflict = order.onConflict;
    this.topicKeys = order.topicKeys;
    this.resubscribe = order.resubscribe;
    this.proof = order.proof;
    this.suppressionReason = order.suppressionReason;
  }

  get kind(): ImportKind {
    return this.suppressionReason === null ? 'SUBSCRIBERS' : 'SUPPRESSIONS';
  }

  get counts(): ImportCounts {
    const { total, created, updated, skipped, failed } = this;
    return { total, created, updated, skipped, failed };
  }

  /** All its rows are stored. */
  queue(stored: Pick<Import, 'columns' | 'definitionsDigest' | 'total'>): void {
    Object.assign(this, stored, { status: 'QUEUED' });
  }

  /** Starts; the rows with the address of a later row are skipped. */
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

/** No project could import the body: it has no header, or is not CSV or not text. */
export class ImportNotReadableError extends DomainError {
  override readonly code = 'validation-error';

  /** `errors` maps the place (`body`, `columns[2]`, `mapping.Mail`) to the message. */
  constructor(readonly errors: Readonly<Record<string, string>>) {
    super('The import cannot be read.');
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { errors: boundedErrors(this.errors) };
  }
}

/** A row's place in what was sent. */
export interface RowPlace {
  /** Counted from 1, without the header and empty lines; 0: the whole import. */
  readonly row: number;
  /** The line of the file in which it begins, counted from 1; null in a list. */
  readonly line: number | null;
}

/** The errors and notes about one row. */
export interface ImportError extends RowPlace {
  /** Null where the row has no valid address. */
  readonly email: string | null;
  /** Column → the error, or why the row was skipped; `row` for the whole row. */
  readonly errors: Readonly<Record<string, string>>;
}

/** The subscriber that a row creates when the address is new. */
export interface StagedSubscriber extends SubscriberFields {
  readonly email: string;
}

/** A row that waits for the worker. */
export interface StagedRow extends RowPlace {
  /** The key that all spellings of an address share; null when the address is not valid. */
  readonly emailKey: string | null;
  /** One value for each column, as received: text, or JSON values. Empty text counts as no value, null clears. */
  readonly cells: readonly unknown[];
  /** Why the row cannot be read. */
  readonly fault: string | null;
}

/** A received row with the result of checking it. */
export interface CheckedRow extends StagedRow {
  /** Checked with the custom fields of that moment; null when the row creates no subscriber. */
  readonly newSubscriber: StagedSubscriber | null;
}

/** The key in `errors` for an error of the whole row. */
export const WHOLE_ROW = 'row';

/** Consecutive rows, first and last included. */
export interface RowRange {
  readonly first: number;
  readonly last: number;
}

/** The rows from `first` to `last`, `size` at a time. Loops that share it get each range once; when one ends early, all do. */
export function* rowRanges(first: number, last: number, size: number): Generator<RowRange, void> {
  for (let next = first; next <= last; next += size) {
    yield { first: next, last: Math.min(next + size - 1, last) };
  }
}
