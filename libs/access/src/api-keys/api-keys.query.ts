import { Injectable } from '@nestjs/common';
import { Clock, type Environment } from '#kernel';
import { Database } from '#platform';
import type { AccessTables } from '../access-tables.js';
import { type ApiKeyStatus, statusOf } from './api-key.js';

/** All that may be shown of a key. */
export interface ApiKeySummary {
  readonly id: string;
  readonly tenantKey: string;
  readonly projectKey: string;
  readonly environment: Environment;
  readonly name: string;
  /** `mw_test_` and, apart, the last four characters. */
  readonly prefix: string;
  readonly lastFour: string;
  readonly scopes: readonly string[];
  readonly rateLimitPerMinute: number | null;
  readonly status: ApiKeyStatus;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/** Reads API keys for the operator. */
@Injectable()
export class ApiKeysQuery {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Every project's keys, or one project's; newest first. */
  list(projectId?: number): Promise<ApiKeySummary[]> {
    const now = this.clock.now();
    return this.database.system(async () => {
      const keys = this.database
        .tables<AccessTables>()
        .selectFrom('access.api_keys as k')
        .innerJoin('access.project_environments as e', 'e.id', 'k.environmentId')
        .innerJoin('access.projects as p', 'p.id', 'e.projectId')
        .innerJoin('access.tenants as t', 't.id', 'p.tenantId')
        .select(['k.id', 't.tenantKey', 'p.projectKey', 'e.environment', 'k.name', 'k.prefix', 'k.lastFour'])
        .select(['k.scopes', 'k.rateLimitPerMinute', 'k.createdAt', 'k.expiresAt', 'k.revokedAt'])
        .orderBy('k.createdAt', 'desc')
        .orderBy('k.id', 'desc');
      const chosen = projectId === undefined ? keys : keys.where('p.id', '=', projectId);
      return (await chosen.execute()).map((key) => ({ ...key, status: statusOf(key, now) }));
    });
  }
}
