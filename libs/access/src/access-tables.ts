import type { Environment } from '#kernel';
import type { Tables } from '#platform';
import type { ColumnType, Generated } from 'kysely';
import type { WordingOverrides } from '#wording';
import { ApiKeySchema } from './api-keys/api-key.schema.js';
import { ProjectSchema } from './projects/project.schema.js';
import { TenantSchema } from './tenants/tenant.schema.js';

export const accessEntities = [ApiKeySchema, ProjectSchema, TenantSchema];

/** What belongs to a project twice; it is made with it and never changes. */
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

/** The tables of the schema `access`. */
export type AccessTables = Tables<
  'access',
  typeof ApiKeySchema | typeof ProjectSchema | typeof TenantSchema
> & {
  'access.project_environments': ProjectEnvironmentsTable;
  'access.project_texts': ProjectTextsTable;
};
