import { sql } from 'kysely';

/** The columns of a `ProjectScope`, of `environmentScopes e`. */
export const SCOPE = sql`
  e.tenant_id as "tenantId", e.project_id as "projectId", e.environment_id as "environmentId", e.environment
`;
