export type Environment = 'LIVE' | 'TEST';

/**
 * Whose rows a piece of work may see. It comes from the API key, a signed token or a job's own row,
 * never from a request's body, and is the first argument of every repository and query method.
 *
 * `environmentId` names one environment of one project; rows carry it, so that one column keeps
 * projects, tenants and environments apart.
 */
export interface ProjectScope {
  readonly tenantId: number;
  readonly projectId: number;
  readonly environmentId: number;
  readonly environment: Environment;
}
