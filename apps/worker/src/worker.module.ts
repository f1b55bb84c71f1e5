import { type DynamicModule, type InjectionToken, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { AudienceModule, AudiencePortsModule } from '#audience';
import { BouncesModule, DeliverabilityWorkerModule } from '#deliverability';
import { BillingModule, PlanLimitsService } from '#billing';
import { Clock } from '#kernel';
import {
  AutomationsWorkerModule,
  MessagingModule,
  MessagingWorkerModule,
  OptInMailQueue,
  OptInMailsModule,
} from '#messaging';
import {
  type Config,
  CONFIG,
  CreatePartitions,
  Database,
  describeError,
  JobCatalogue,
  JobDispatcher,
  JobMetrics,
  JobRunner,
  LOGGER,
  Notifications,
  outageLines,
  type PeriodicTask,
  PeriodicTasks,
  PlatformModule,
  type PlatformOptions,
  redisFailure,
  RemoveExpiredRows,
} from '#platform';
import { createQueueBackend } from '#platform/queue';
import { WebhooksWorkerModule } from '#webhooks';
import { audienceWork } from './audience-work.js';
import { billingWork } from './billing-work.js';
import { BounceProcessor } from './deliverability/bounce-processor.js';
import { BounceServer } from './deliverability/bounce-server.js';
import { deliverabilityWork } from './deliverability/deliverability-work.js';
import { automationsWork } from './messaging/automations-work.js';
import { ErasureJob } from './erasure.job.js';
import { messagingWork } from './messaging/messaging-work.js';
import { webhooksWork } from './webhooks-work.js';
import { QUEUE_BACKEND, Worker, WORKER_PARTS, type WorkerPart } from './worker.js';

const CONTEXTS = [
  audienceWork,
  automationsWork,
  billingWork,
  deliverabilityWork,
  messagingWork,
  webhooksWork,
];
const JOBS = CONTEXTS.flatMap(({ jobs }) => jobs);
const PARTS = CONTEXTS.flatMap(({ parts }) => parts);
const TASKS = [CreatePartitions, RemoveExpiredRows, ...CONTEXTS.flatMap(({ tasks }) => tasks)];

/** Provides a class of the platform that is made from what `inject` names. */
function made<Parts extends unknown[]>(
  type: new (...parts: Parts) => object,
  ...inject: InjectionToken[]
): Provider {
  return { provide: type, inject, useFactory: (...parts: Parts) => new type(...parts) };
}

/** The queue, its jobs, and what takes them from their table to it. */
const QUEUE: Provider[] = [
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
    inject: [DiscoveryService],
    useFactory: (discovery: DiscoveryService) =>
      new JobCatalogue(() => discovery.getProviders().map(({ instance }): unknown => instance)),
  },
  made(JobMetrics, Registry),
  made(JobDispatcher, Database, Notifications, QUEUE_BACKEND, JobCatalogue, LOGGER),
  made(JobRunner, Database, QUEUE_BACKEND, JobCatalogue, LOGGER, JobMetrics),
  {
    provide: PeriodicTasks,
    inject: [Database, Clock, LOGGER, ...TASKS],
    useFactory: (database: Database, clock: Clock, logger: Logger, ...tasks: PeriodicTask[]) =>
      new PeriodicTasks(database, tasks, clock, logger),
  },
  {
    provide: WORKER_PARTS,
    inject: [JobDispatcher, JobRunner, PeriodicTasks, ...PARTS],
    useFactory: (...parts: WorkerPart[]) => parts,
  },
];

/** The api's contexts without its controllers, with the queue, the jobs and the sending engine. */
@Module({})
export class WorkerModule {
  static register(options: PlatformOptions): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        DiscoveryModule,
        PlatformModule.register(options),
        AudiencePortsModule.by([BillingModule, OptInMailsModule], {
          plan: PlanLimitsService,
          optInMails: OptInMailQueue,
        }),
        AudienceModule,
        MessagingModule,
        DeliverabilityWorkerModule,
        BillingModule,
        AutomationsWorkerModule,
        MessagingWorkerModule,
        WebhooksWorkerModule,
        BouncesModule,
      ],
      providers: [...QUEUE, BounceProcessor, BounceServer, ErasureJob, Worker],
    };
  }
}
