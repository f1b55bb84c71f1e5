import { Global, Module, type OnApplicationShutdown } from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import { ThrottlerModule } from '@nestjs/throttler';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { Clock } from '#kernel';
import type { Config } from '../config/config.js';
import { Database } from '../database/database.js';
import { outageLines } from '../lifecycle/outage.js';
import { redisFailure } from '../lifecycle/redis-failure.js';
import { HttpMetrics } from '../metrics/http-metrics.js';
import { collectProcessMetrics } from '../metrics/process-metrics.js';
import { databaseChecks } from '../operations/database-checks.js';
import { HealthChecks } from '../operations/health-checks.js';
import { Operations } from '../operations/operations.js';
import { CONFIG, LOGGER } from '../platform.module.js';
import { LinkTokens } from '../tokens/link-tokens.js';
import { ScopeGuard } from './authentication/scope.guard.js';
import { IdempotencyGuard } from './idempotency/idempotency.guard.js';
import { IdempotencyKeysQuery } from './idempotency/idempotency-keys.query.js';
import { ProblemFilter } from './problems/problem.filter.js';
import { ProblemWriter } from './problems/problem-writer.js';
import { PostgresRateLimitStorage } from './rate-limit/postgres-rate-limit.storage.js';
import { RateLimitGuard } from './rate-limit/rate-limit.guard.js';
import { RateLimitStorage } from './rate-limit/rate-limit.storage.js';
import { rateLimits } from './rate-limit/rate-limits.js';
import { RouteTable } from './routing/route-table.js';
import { Deadline } from './server/deadline.js';
import { Draining } from './server/draining.js';
import { RequestLog } from './server/request-log.js';
import { InputGuard } from './validation/input.guard.js';

const providers = [
  RouteTable,
  { provide: Draining, useFactory: () => new Draining() },
  { provide: HttpMetrics, useFactory: (registry: Registry) => new HttpMetrics(registry), inject: [Registry] },
  {
    provide: RequestLog,
    useFactory: (logger: Logger, metrics: HttpMetrics) => new RequestLog(logger, metrics),
    inject: [LOGGER, HttpMetrics],
  },
  {
    provide: ProblemFilter,
    useFactory: (config: Config, clock: Clock, logger: Logger) =>
      new ProblemFilter(new ProblemWriter(config.PUBLIC_URL, clock), logger),
    inject: [CONFIG, Clock, LOGGER],
  },
  {
    provide: RateLimitStorage,
    useFactory: async (config: Config, logger: Logger, { outage }: Database): Promise<RateLimitStorage> => {
      if (config.REDIS_URL === undefined) return new PostgresRateLimitStorage(config.DATABASE_URL, outage);
      // Without Redis no process spends memory on its client.
      const { RedisRateLimitStorage } = await import('./rate-limit/redis-rate-limit.storage.js');
      const lines = {
        begins: 'requests get 503: Redis cannot be used',
        ends: 'requests are answered again: Redis can be used',
      };
      return new RedisRateLimitStorage(config.REDIS_URL, outageLines(logger, lines, redisFailure));
    },
    inject: [CONFIG, LOGGER, Database],
  },
  RateLimitGuard,
  ScopeGuard,
  InputGuard,
  {
    provide: IdempotencyGuard,
    useFactory: (database: Database, config: Config, logger: Logger) =>
      new IdempotencyGuard(new IdempotencyKeysQuery(database), config, logger),
    inject: [Database, CONFIG, LOGGER],
  },
  {
    provide: Deadline,
    useFactory: (problems: ProblemFilter, idempotency: IdempotencyGuard, config: Config) =>
      new Deadline(problems, idempotency, config.REQUEST_TIMEOUT_MS),
    inject: [ProblemFilter, IdempotencyGuard, CONFIG],
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

/** In the contract's order: 429, 403, what is wrong with the request's form, and then its idempotency key. */
const guards = [RateLimitGuard, ScopeGuard, InputGuard, IdempotencyGuard].map((guard) => ({
  provide: APP_GUARD,
  useExisting: guard,
}));

const throttler = ThrottlerModule.forRootAsync({
  useFactory: rateLimits,
  inject: [CONFIG, RateLimitStorage, Reflector, LinkTokens],
});

/** The parts of the HTTP kit that Nest injects; `useHttpKit` puts them to work. */
@Global()
@Module({ imports: [throttler], providers: [...providers, ...guards], exports: providers })
export class HttpKitModule implements OnApplicationShutdown {
  constructor(private readonly storage: RateLimitStorage) {}

  async onApplicationShutdown(): Promise<void> {
    await this.storage.close();
  }
}
