import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type Environment } from '#kernel';
import { Database } from '#platform';

export type ApiKeyStatus = 'ACTIVE' | 'EXPIRED' | 'REVOKED';

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
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Every project's keys, or one project's; newest first. */
  list(projectId?: number): Promise<ApiKeySummary[]> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<ApiKeySummary>`
        select k.id, t.tenant_key as "tenantKey", p.project_key as "projectKey", e.environment, k.name, k.prefix,
          k.last_four as "lastFour", k.scopes, k.rate_limit_per_minute as "rateLimitPerMinute",
          case when k.revoked_at is not null then 'REVOKED'
            when k.expires_at <= ${this.clock.now()}::timestamptz then 'EXPIRED' else 'ACTIVE' end as status,
          k.created_at as "createdAt", k.expires_at as "expiresAt", k.revoked_at as "revokedAt"
        from access.api_keys k
        join access.project_environments e on e.id = k.environment_id
        join access.projects p on p.id = e.project_id
        join access.tenants t on t.id = p.tenant_id
        where ${projectId ?? null}::bigint is null or p.id = ${projectId ?? null}::bigint
        order by k.created_at desc, k.id desc
      `.execute(db);
      return rows;
    });
  }
}
