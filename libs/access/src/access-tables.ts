import { defineEntity, p } from '@mikro-orm/postgresql';
import type { ColumnType, Generated } from 'kysely';
import type { Environment } from '#kernel';
import type { Tables } from '#platform';
import type { WordingOverrides } from '#wording';
import { ApiKey } from './api-key.js';
import { Project } from './project.js';
import { Tenant } from './tenant.js';

/** access.tenants */
const TenantSchema = defineEntity({
  class: Tenant,
  tableName: 'tenants',
  schema: 'access',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    tenantKey: p.text(),
    name: p.text(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});

/** access.projects */
const ProjectSchema = defineEntity({
  class: Project,
  tableName: 'projects',
  schema: 'access',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    tenantId: p.bigint('number'),
    projectKey: p.text(),
    name: p.text(),
    description: p.text().nullable(),
    senderName: p.text(),
    postalAddress: p.text(),
    defaultFromEmail: p.text().nullable(),
    replyTo: p.text().nullable(),
    defaultLocale: p.text(),
    timeZone: p.text(),
    logoUrl: p.text().nullable(),
    color: p.text().nullable(),
    trackingHost: p.text().nullable(),
    privacyUrl: p.text().nullable(),
    contactEmail: p.text().nullable(),
    aiSegmentSuggestionsEnabled: p.boolean(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});

/** access.api_keys; callers are looked up by the function `access.find_api_key`, before there is a scope. */
const ApiKeySchema = defineEntity({
  class: ApiKey,
  tableName: 'api_keys',
  schema: 'access',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number'),
    name: p.text(),
    keyHash: p.blob(),
    prefix: p.text(),
    lastFour: p.text(),
    scopes: p.array().columnType('text[]'),
    rateLimitPerMinute: p.integer().nullable(),
    allowedNetworks: p.array().columnType('text[]'),
    createdBy: p.uuid().nullable(),
    replacedBy: p.uuid().nullable(),
    lastUsedAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    expiresAt: p.datetime(3).nullable(),
    revokedAt: p.datetime(3).nullable(),
  },
});

export const accessEntities = [ApiKeySchema, ProjectSchema, TenantSchema];

/** Live and test of each project; made with it, never changed. */
interface ProjectEnvironmentsTable {
  readonly id: Generated<number>;
  readonly projectId: number;
  readonly environment: Environment;
}

/** Rows are only added. */
interface ProjectTextsTable {
  readonly projectId: number;
  readonly locale: string;
  readonly version: number;
  readonly texts: ColumnType<WordingOverrides, string>;
  readonly createdAt: Date;
}

/** Keys of the operator's API. */
interface OperatorKeysTable {
  readonly id: string;
  readonly name: string;
  readonly keyHash: Buffer;
  readonly lastFour: string;
  readonly scopes: string[];
  readonly allowedNetworks: string[];
  readonly lastUsedAt: Date | null;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/** The tables of the schema `access`. */
export type AccessTables = Tables<
  'access',
  typeof ApiKeySchema | typeof ProjectSchema | typeof TenantSchema
> & {
  'access.operator_keys': OperatorKeysTable;
  'access.project_environments': ProjectEnvironmentsTable;
  'access.project_texts': ProjectTextsTable;
};
