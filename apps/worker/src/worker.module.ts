import { type DynamicModule, type InjectionToken, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { AudienceModule, AudiencePortsModule } from '#audience';
import { BouncesModule, DeliverabilityWorkerModule } from '#deliverability';
import { BillingModule, PlanLimitsService } from '#billing';
import { Clock } from '#kernel';
import {
  AutomationRunner,
  AutomationsWorkerModule,
  BounceRecordingModule,
  CampaignSchedulerService,
  DeliveryEngineService,
  MailboxSimulatorService,
  MessagingModule,
  MessagingWorkerModule,
  OptInMailQueue,
  OptInMailsModule,
  RetentionRunner,
  WebhookCaller,
} from '#messaging';
import {
  AuditLogService,
  type Config,
  CONFIG,
  Database,
  describeError,
  HousekeepingService,
  JobCatalogue,
  JobDispatcher,
  JobMetrics,
  JobRunner,
  LOGGER,
  Notifications,
  outageLines,
  periodicTasks,
  PeriodicTasks,
  PlatformModule,
  type PlatformOptions,
  redisFailure,
} from '#platform';
import { createQueueBackend } from '#platform/queue';
import { WebhookSender, WebhooksWorkerModule } from '#webhooks';
import { BounceJobs, BounceProcessor } from './deliverability/bounce-processor.js';
import { BounceServer } from './deliverability/bounce-server.js';
import { ErasureJob } from './erasure.job.js';
import { QUEUE_BACKEND, Worker, WORKER_PARTS, type WorkerPart } from './worker.js';

/** Provides a class of the platform that is made from what `inject` names. */
function made<Parts extends unknown[]>(
  type: new (...parts: Parts) => object,
  ...inject: InjectionToken[]
): Provider {
  return { provide: type, inject, useFactory: (...parts: Parts) => new type(...parts) };
}

/** All that the program has made, to be asked for decorated methods. */
const instancesIn = (discovery: DiscoveryService) =>
  discovery.getProviders().map(({ instance }): unknown => instance);

/** The queue, its jobs, and what takes them from their table to it. */
const QUEUE: Provider[] = [
  AuditLogService,
  HousekeepingService,
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
    useFactory: (discovery: DiscoveryService) => new JobCatalogue(() => instancesIn(discovery)),
  },
  made(JobMetrics, Registry),
  made(JobDispatcher, Database, Notifications, QUEUE_BACKEND, JobCatalogue, LOGGER),
  made(JobRunner, Database, QUEUE_BACKEND, JobCatalogue, LOGGER, JobMetrics),
  {
    provide: PeriodicTasks,
    inject: [Database, Clock, LOGGER, DiscoveryService],
    useFactory: (database: Database, clock: Clock, logger: Logger, discovery: DiscoveryService) =>
      new PeriodicTasks(database, () => periodicTasks(instancesIn(discovery)), clock, logger),
  },
  {
    provide: WORKER_PARTS,
    inject: [
      JobDispatcher,
      JobRunner,
      PeriodicTasks,
      AutomationRunner,
      WebhookCaller,
      BounceServer,
      CampaignSchedulerService,
      DeliveryEngineService,
      MailboxSimulatorService,
      RetentionRunner,
      WebhookSender,
    ],
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
        BounceRecordingModule,
      ],
      providers: [...QUEUE, BounceJobs, BounceProcessor, BounceServer, ErasureJob, Worker],
    };
  }
}
