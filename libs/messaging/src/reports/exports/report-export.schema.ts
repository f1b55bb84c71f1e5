import { defineEntity, p } from '@mikro-orm/postgresql';

export type ReportExportKind = 'STATISTICS' | 'DELIVERIES';
/** FAILED when a person in its file was erased while it was made. */
export type ReportExportState = 'PENDING' | 'DONE' | 'FAILED';

/** A report's file, which a client waits for and a worker makes part by part. */
export class ReportExport {
  readonly id: string;
  readonly environmentId: number;
  readonly campaignId: string;
  readonly kind: ReportExportKind;
  /** Addresses in it are masked. */
  readonly isMasked: boolean;
  state: ReportExportState = 'PENDING';
  /** The address that a file with a row for each recipient has come to. */
  cursor: string | null = null;
  parts = 0;
  readonly createdAt: Date;
  finishedAt: Date | null = null;
  takenAt: Date | null = null;

  constructor(
    of: Pick<ReportExport, 'id' | 'environmentId' | 'campaignId' | 'kind' | 'isMasked'>,
    now: Date,
  ) {
    this.id = of.id;
    this.environmentId = of.environmentId;
    this.campaignId = of.campaignId;
    this.kind = of.kind;
    this.isMasked = of.isMasked;
    this.createdAt = now;
  }

  /** One more part is made. */
  advance({ cursor, isLast }: { readonly cursor: string | null; readonly isLast: boolean }, now: Date): void {
    this.parts += 1;
    this.cursor = cursor ?? this.cursor;
    if (!isLast) return;
    this.state = 'DONE';
    this.finishedAt = now;
  }
}

/** messaging.exports. */
export const ReportExportSchema = defineEntity({
  class: ReportExport,
  tableName: 'exports',
  schema: 'messaging',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number').primary(),
    campaignId: p.uuid(),
    kind: p.string().$type<ReportExportKind>(),
    isMasked: p.boolean(),
    state: p.string().$type<ReportExportState>(),
    cursor: p.text().nullable(),
    parts: p.integer(),
    createdAt: p.datetime(3),
    finishedAt: p.datetime(3).nullable(),
    takenAt: p.datetime(3).nullable(),
  },
});
