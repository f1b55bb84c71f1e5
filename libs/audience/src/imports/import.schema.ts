import { defineEntity, p } from '@mikro-orm/postgresql';
import type { ConsentProof, SuppressionReason } from '../consents/consent.js';
import type { ColumnTarget } from './import-columns.js';
import { Import, type ImportConflict, type ImportStatus } from './import.js';

/** audience.imports. SQL adds to the counts for each chunk of rows. */
export const ImportSchema = defineEntity({
  class: Import,
  tableName: 'imports',
  schema: 'audience',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number').primary(),
    status: p.string().$type<ImportStatus | 'RECEIVING'>(),
    onConflict: p.string().$type<ImportConflict>(),
    topicKeys: p.array().columnType('text[]'),
    resubscribe: p.boolean(),
    proof: p.json<ConsentProof>(),
    suppressionReason: p.string().$type<SuppressionReason>().nullable(),
    columns: p.array<ColumnTarget>().columnType('text[]'),
    definitionsDigest: p.text().nullable(),
    total: p.bigint('number'),
    created: p.bigint('number'),
    updated: p.bigint('number'),
    skipped: p.bigint('number'),
    failed: p.bigint('number'),
    failureReason: p.text().nullable(),
    createdAt: p.datetime(3),
    completedAt: p.datetime(3).nullable(),
  },
});
