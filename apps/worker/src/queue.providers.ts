import type { Provider } from '@nestjs/common';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { Clock } from '#kernel';
import {
  type Config,
  CONFIG,
  CreatePartitions,
  Database,
  describeError,
  JobCatalogue,
  JobMetrics,
  JobRunner,
  LOGGER,
  Notifications,
  outageLines,
  type PeriodicTask,
  PeriodicTasks,
  type QueueBackend,
  Relay,
  redisFailure,
  RemoveExpiredRows,
} from '#platform';
import { createQueueBackend } from '#platform/queue';
import { audienceWork } from './audience-work.js';
import { deliverabilityWork } from './deliverability/deliverability-work.js';
import { billingWork } from './billing-work.js';
import { automationsWork } from './messaging/automations-work.js';
import { messagingWork } from './messaging/messaging-work.js';
import { webhooksWork } from './webhooks-work.js';
import type { WorkerPart } from './context-work.js';

/** Injects the `QueueBackend` of this process. */
export const QUEUE_BACKEND = Symbol('mailwright.queue-backend');

/** Injects the parts that run as long as the worker. */
export const WORKER_PARTS = Symbol('mailwright.worker-parts');

const CONTEXTS = [
  audienceWork,
  automationsWork,
  billingWork,
  deliverabilityWork,
  messagingWork,
  webhooksWork,
];
const JOBS = CONTEXTS.flatMap(({ jobs }) => jobs);
const EVENTS = CONTEXTS.flatMap(({ events }) => events);
const PARTS = CONTEXTS.flatMap(({ parts }) => parts);
const TASKS = [CreatePartitions, RemoveExpiredRows, ...CONTEXTS.flatMap(({ tasks }) => tasks)];

/** The queue, its jobs, and the relay that turns outbox rows into jobs. */
export const queueProviders: Provider[] = [
  ...JOBS,
  CreatePartitions,
  RemoveExpiredRows,
  {
    provide: QUEUE_BACKEND,
    inject: [CONFIG, LOGGER, Database],
    useFactory: (config: Config, logger: Logger, { outage }: Database) =>
      createQueueBackend({
        databaseUrl: config.DATABASE_URL,
        redisUrl: config.REDIS_URL,
        databaseOutage: outage,
        redisOutage: outageLines(
          logger,
          {
            begins: 'jobs wait: Redis, which has the queue, cannot be used',
            ends: 'jobs go on: Redis can be used',
          },
          redisFailure,
        ),
        onError: (error) => logger.warn({ error: describeError(error) }, 'the queue failed'),
      }),
  },
  {
    provide: JobCatalogue,
    inject: JOBS,
    useFactory: (...jobs: ConstructorParameters<typeof JobCatalogue>[0]) => new JobCatalogue(jobs, EVENTS),
  },
  { provide: JobMetrics, inject: [Registry], useFactory: (registry: Registry) => new JobMetrics(registry) },
  {
    provide: Relay,
    inject: [Database, Notifications, QUEUE_BACKEND, JobCatalogue, LOGGER],
    useFactory: (
      database: Database,
      notifications: Notifications,
      backend: QueueBackend,
      catalogue: JobCatalogue,
      logger: Logger,
    ) => new Relay(database, notifications, backend, catalogue, logger),
  },
  {
    provide: JobRunner,
    inject: [Database, QUEUE_BACKEND, JobCatalogue, LOGGER, JobMetrics],
    useFactory: (
      database: Database,
      backend: QueueBackend,
      catalogue: JobCatalogue,
      logger: Logger,
      metrics: JobMetrics,
    ) => new JobRunner(database, backend, catalogue, logger, metrics),
  },
  {
    provide: PeriodicTasks,
    inject: [Database, Clock, LOGGER, ...TASKS],
    useFactory: (database: Database, clock: Clock, logger: Logger, ...tasks: PeriodicTask[]) =>
      new PeriodicTasks(database, tasks, clock, logger),
  },
  {
    provide: WORKER_PARTS,
    inject: [Relay, JobRunner, PeriodicTasks, ...PARTS],
    useFactory: (...parts: WorkerPart[]) => parts,
  },
];
