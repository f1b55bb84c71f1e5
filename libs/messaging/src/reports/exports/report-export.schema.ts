import { defineEntity, p } from '@mikro-orm/postgresql';
import { ReportExport, type ReportExportKind, type ReportExportState } from './report-export.js';

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
    state: p.string().$type<ReportExportState>(),
    cursor: p.text().nullable(),
    parts: p.integer(),
    createdAt: p.datetime(3),
    finishedAt: p.datetime(3).nullable(),
    takenAt: p.datetime(3).nullable(),
  },
});
