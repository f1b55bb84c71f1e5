import { Global, Module, type OnApplicationShutdown } from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import { ThrottlerModule } from '@nestjs/throttler';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import type { Config } from '../config.js';
import { Database } from '../database/database.js';
import { outageLines } from '../lifecycle/outage.js';
import { redisFailure } from '../lifecycle/redis-failure.js';
import { collectProcessMetrics, HttpMetrics } from '../metrics.js';
import { databaseChecks, HealthChecks, Operations } from '../operations.js';
import { CONFIG, LOGGER } from '../platform.module.js';
import { LinkTokens } from '../secrets/link-tokens.js';
import { RequestLog } from '../audit/request-log.js';
import { RequestAudit } from './audit.hook.js';
import { Draining } from './connections.js';
import { ScopeGuard } from './guards/access.hook.js';
import { IdempotencyKeyRepository } from './guards/idempotency-key.repository.js';
import { IdempotencyGuard } from './guards/idempotency.guard.js';
import { InputGuard } from './guards/input.guard.js';
import { RateLimitGuard, rateLimits } from './guards/rate-limit.guard.js';
import { PostgresRateLimitStorage, RateLimitStorage } from './guards/rate-limit.storage.js';
import { ProblemFilter } from './operation/problem.filter.js';
import { RouteTable } from './operation/route-table.js';

const REDIS_OUTAGE = {
  begins: 'requests get 503: Redis cannot be used',
  ends: 'requests are answered again: Redis can be used',
};

/** In the contract's order: 429, 403, the request's form, and then its idempotency key. */
const GUARDS = [RateLimitGuard, ScopeGuard, InputGuard, IdempotencyGuard];

const PROVIDERS = [
  RouteTable,
  Draining,
  HttpMetrics,
  RequestAudit,
  RequestLog,
  ProblemFilter,
  IdempotencyKeyRepository,
  ...GUARDS,
  {
    provide: RateLimitStorage,
    useFactory: async (config: Config, logger: Logger, { outage }: Database): Promise<RateLimitStorage> => {
      if (config.REDIS_URL === undefined) return new PostgresRateLimitStorage(config.DATABASE_URL, outage);
      // Without Redis no process spends memory on its client.
      const { RedisRateLimitStorage } = await import('./guards/redis-rate-limit.storage.js');
      return new RedisRateLimitStorage(config.REDIS_URL, outageLines(logger, REDIS_OUTAGE, redisFailure));
    },
    inject: [CONFIG, LOGGER, Database],
  },
  {
    provide: Operations,
    useFactory: (database: Database, storage: RateLimitStorage, registry: Registry, draining: Draining) => {
      collectProcessMetrics(registry, database);
      const rateLimit = {
        name: 'rateLimit',
        check: () => storage.ping(),
        reasonOf: (error: unknown) => storage.reasonOf(error),
      };
      const checks = [...databaseChecks(database), rateLimit, draining.check()];
      return new Operations(new HealthChecks(checks), registry);
    },
    inject: [Database, RateLimitStorage, Registry, Draining],
  },
];

const throttler = ThrottlerModule.forRootAsync({
  useFactory: rateLimits,
  inject: [CONFIG, RateLimitStorage, Reflector, LinkTokens],
});

/** Parts of the HTTP kit that Nest injects; `useHttpKit` puts them to work. */
@Global()
@Module({
  imports: [throttler],
  providers: [...PROVIDERS, ...GUARDS.map((guard) => ({ provide: APP_GUARD, useExisting: guard }))],
  exports: PROVIDERS,
})
export class HttpKitModule implements OnApplicationShutdown {
  constructor(
    private readonly storage: RateLimitStorage,
    private readonly requestLog: RequestLog,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await this.requestLog.write(true);
    await this.storage.close();
  }
}
