import { RateLimitedError } from '#kernel';

export const EXPORT_KINDS = ['SUBSCRIBERS', 'CONSENTS', 'SUPPRESSIONS', 'EVENTS', 'DELIVERIES'] as const;
export type ExportKind = (typeof EXPORT_KINDS)[number];

export const EXPORT_FORMATS = ['CSV', 'NDJSON'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export const EXPORT_STATUSES = ['QUEUED', 'IN_PROGRESS', 'COMPLETED', 'FAILED'] as const;
export type ExportStatus = (typeof EXPORT_STATUSES)[number];

/** A client's order of a file. */
export interface ExportOrder {
  readonly what: ExportKind;
  readonly format: ExportFormat;
  readonly segmentKey?: string | undefined;
  /** Addresses in DELIVERIES are masked. */
  readonly isMasked: boolean;
}

/** A row of messaging.data_exports. */
export interface DataExport {
  readonly id: string;
  readonly environmentId: number;
  readonly what: ExportKind;
  readonly format: ExportFormat;
  readonly segmentId: string | null;
  readonly segmentKey: string | null;
  readonly isMasked: boolean;
  readonly status: ExportStatus;
  readonly run: string | null;
  readonly parts: number;
  readonly rows: number;
  readonly failureReason: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** When its file is removed; null while there is none. */
  readonly expiresAt: Date | null;
}

/** A row of messaging.data_export_parts. */
export interface DataExportPart {
  readonly exportId: string;
  readonly environmentId: number;
  readonly run: string;
  readonly part: number;
  readonly content: string;
}

/** An export as clients see it. */
export interface DataExportView extends Pick<
  DataExport,
  | 'id'
  | 'what'
  | 'format'
  | 'segmentKey'
  | 'status'
  | 'failureReason'
  | 'createdAt'
  | 'updatedAt'
  | 'expiresAt'
> {
  /** Null until it is COMPLETED. */
  readonly rows: number | null;
  /** Address of the file, good without a key; null while there is none. */
  readonly url: string | null;
}

/** The time for which a file is kept. */
export const FILE_KEPT_MS = 60 * 60_000;

/** Exports that an environment may ask for in an hour, which bounds the space that files take. */
export const EXPORTS_AN_HOUR = 20;

/** More exports were asked for than an hour allows. */
export class TooManyExportsError extends RateLimitedError {
  constructor(retryAfterSeconds: number) {
    super(`At most ${EXPORTS_AN_HOUR} exports an hour.`, retryAfterSeconds);
  }
}
