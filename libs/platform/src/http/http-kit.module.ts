import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { Clock } from '#kernel';
import type { Config } from '../config/config.js';
import { Database } from '../database/database.js';
import { describeError } from '../logging/redact.js';
import { HttpMetrics } from '../metrics/http-metrics.js';
import { collectProcessMetrics } from '../metrics/process-metrics.js';
import { databaseChecks } from '../operations/database-checks.js';
import { HealthChecks } from '../operations/health-checks.js';
import { Operations } from '../operations/operations.js';
import { CONFIG, LOGGER } from '../platform.module.js';
import { IdempotencyHook } from './idempotency/idempotency.hook.js';
import { IdempotencyKeysQuery } from './idempotency/idempotency-keys.query.js';
import { ProblemFilter } from './problems/problem.filter.js';
import { ProblemWriter } from './problems/problem-writer.js';
import { PostgresRateLimitStore } from './rate-limit/postgres-rate-limit.store.js';
import { RateLimiter } from './rate-limit/rate-limiter.js';
import { RateLimitStore } from './rate-limit/rate-limit.js';
import { RouteTable } from './routing/route-table.js';
import { Deadline } from './server/deadline.js';
import { Draining } from './server/draining.js';
import { RequestLog } from './server/request-log.js';

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
    provide: RateLimitStore,
    useFactory: async (config: Config, logger: Logger): Promise<RateLimitStore> => {
      if (config.REDIS_URL === undefined) return new PostgresRateLimitStore(config.DATABASE_URL);
      // Without Redis no process spends memory on its client.
      const { RedisRateLimitStore } = await import('./rate-limit/redis-rate-limit.store.js');
      return new RedisRateLimitStore(config.REDIS_URL, {
        begins: (error) =>
          logger.warn({ error: describeError(error) }, 'requests get 503: REDIS_URL does not answer'),
        ends: () => logger.warn('requests are answered again: REDIS_URL does'),
      });
    },
    inject: [CONFIG, LOGGER],
  },
  {
    provide: RateLimiter,
    useFactory: (store: RateLimitStore, config: Config) =>
      new RateLimiter(store, config.RATE_LIMIT_PER_MINUTE),
    inject: [RateLimitStore, CONFIG],
  },
  {
    provide: IdempotencyHook,
    useFactory: (database: Database, config: Config, logger: Logger) =>
      new IdempotencyHook(new IdempotencyKeysQuery(database), config, logger),
    inject: [Database, CONFIG, LOGGER],
  },
  {
    provide: Deadline,
    useFactory: (problems: ProblemFilter, idempotency: IdempotencyHook) =>
      new Deadline(problems, idempotency),
    inject: [ProblemFilter, IdempotencyHook],
  },
  {
    provide: Operations,
    useFactory: (database: Database, store: RateLimitStore, registry: Registry, draining: Draining) => {
      collectProcessMetrics(registry, database.pool);
      const rateLimit = { name: 'rateLimit', check: () => store.ping() };
      const checks = [...databaseChecks(database), rateLimit, draining.check()];
      return new Operations(new HealthChecks(checks), registry);
    },
    inject: [Database, RateLimitStore, Registry, Draining],
  },
];

/** The parts of the HTTP kit that Nest injects; `useHttpKit` puts them to work. */
@Global()
@Module({ providers, exports: providers })
export class HttpKitModule implements OnApplicationShutdown {
  constructor(@Inject(RateLimitStore) private readonly store: RateLimitStore) {}

  async onApplicationShutdown(): Promise<void> {
    await this.store.close();
  }
}
