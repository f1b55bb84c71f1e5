import { randomInt } from 'node:crypto';
import { LockMode } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { Clock, type Environment, isUuid, newId, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { AccessTables } from './access-tables.js';
import { ApiKey, type ApiKeyStatus, makeApiKey, type NewApiKey, statusOf } from './api-key.js';
import { API_KEYS_CHANNEL } from './key-authenticator.js';

export interface CreatedApiKey {
  readonly id: string;
  /** The key itself. It is stored nowhere and cannot be shown again. */
  readonly key: string;
}

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

/** API keys, managed by the operator. */
@Injectable()
export class ApiKeysService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Makes a key for the environment of `scope`, or throws `DomainValidationError`. */
  async create(scope: ProjectScope, wanted: NewApiKey): Promise<CreatedApiKey> {
    const key = makeApiKey(scope.environment, randomInt);
    const identity = { id: newId(), environmentId: scope.environmentId, key };
    const stored = new ApiKey(identity, wanted, this.clock.now());
    await this.database.system(async () => void this.database.em.persist(stored));
    return { id: stored.id, key };
  }

  /**
   * Revokes a key for good, and returns since when; every instance refuses it within five seconds. Revoking again changes
   * nothing. Throws `NotFoundError`.
   */
  async revoke(id: string): Promise<Date> {
    if (!isUuid(id)) throw new NotFoundError();
    return this.database.system(async () => {
      const key = await this.database.em.findOne(ApiKey, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
      if (key === null) throw new NotFoundError();
      this.database.notify(API_KEYS_CHANNEL, key.keyHash.toString('hex'));
      return key.revoke(this.clock.now());
    });
  }

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
