import type { Provider } from '@nestjs/common';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import {
  ConfirmationRequested,
  EvaluateSegments,
  TrimSegmentHistory,
  ExpireConfirmations,
  FoldCounters,
  ImportQueued,
  RemoveOldImports,
  SubscriberErased,
  TopicDeleted,
} from '#audience';
import { Clock } from '#kernel';
import {
  CampaignQueued,
  CampaignRetried,
  CampaignStopped,
  DeliveriesExportRequested,
  RemoveOldExports,
  ReportExportRequested,
  TrimTestInboxes,
} from '#messaging';
import {
  type Config,
  CONFIG,
  CreatePartitions,
  Database,
  describeError,
  ExpiredIdempotencyKeysTask,
  ExpiredRateLimitWindowsTask,
  JobCatalogue,
  JobMetrics,
  JobRunner,
  LOGGER,
  Notifications,
  type PeriodicTask,
  PeriodicTasks,
  type QueueBackend,
  Relay,
  RemoveFinishedJobs,
} from '#platform';
import { createQueueBackend } from '#platform/queue';
import { EraseMail } from './audience/erase-mail.job.js';
import { ImportSubscribers } from './audience/import-subscribers.job.js';
import { RemoveTopicConsents } from './audience/remove-topic-consents.job.js';
import { CloseCampaign } from './messaging/close-campaign.job.js';
import { ExpandCampaign } from './messaging/expand-campaign.job.js';
import { ExportDeliveries } from './messaging/export-deliveries.job.js';
import { ExportReport } from './messaging/export-report.job.js';
import { RetryFailedDeliveries } from './messaging/retry-failed-deliveries.job.js';
import { SendConfirmationMail } from './messaging/send-confirmation-mail.job.js';

/** Injects the `QueueBackend` of this process. */
export const QUEUE_BACKEND = Symbol('mailwright.queue-backend');

/** Every job there is. One that is not here is not run, and boot fails for an event without a job. */
const JOBS = [
  CloseCampaign,
  EraseMail,
  ExpandCampaign,
  ExportDeliveries,
  ExportReport,
  ImportSubscribers,
  RemoveTopicConsents,
  RetryFailedDeliveries,
  SendConfirmationMail,
];
/** Every event that starts jobs. */
const EVENTS = [
  CampaignQueued,
  CampaignRetried,
  CampaignStopped,
  ConfirmationRequested,
  DeliveriesExportRequested,
  ImportQueued,
  ReportExportRequested,
  SubscriberErased,
  TopicDeleted,
];
const TASKS = [
  CreatePartitions,
  ExpireConfirmations,
  ExpiredIdempotencyKeysTask,
  ExpiredRateLimitWindowsTask,
  FoldCounters,
  RemoveFinishedJobs,
  RemoveOldExports,
  TrimTestInboxes,
  RemoveOldImports,
  EvaluateSegments,
  TrimSegmentHistory,
];

/** The queue, its jobs, and what turns rows into jobs. */
export const queueProviders: Provider[] = [
  ...JOBS,
  CreatePartitions,
  RemoveFinishedJobs,
  {
    provide: ExpiredIdempotencyKeysTask,
    inject: [Database, Clock],
    useFactory: (database: Database, clock: Clock) => new ExpiredIdempotencyKeysTask(database, clock),
  },
  {
    provide: ExpiredRateLimitWindowsTask,
    inject: [Database],
    useFactory: (database: Database) => new ExpiredRateLimitWindowsTask(database),
  },
  {
    provide: QUEUE_BACKEND,
    inject: [CONFIG, LOGGER],
    useFactory: (config: Config, logger: Logger) =>
      createQueueBackend({
        databaseUrl: config.DATABASE_URL,
        redisUrl: config.REDIS_URL,
        onError: (error) => logger.warn({ error: describeError(error) }, 'queue connection'),
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
    inject: [Database, Notifications, QUEUE_BACKEND, JobCatalogue, Clock, LOGGER],
    useFactory: (
      database: Database,
      notifications: Notifications,
      backend: QueueBackend,
      catalogue: JobCatalogue,
      clock: Clock,
      logger: Logger,
    ) => new Relay(database, notifications, backend, catalogue, clock, logger),
  },
  {
    provide: JobRunner,
    inject: [Database, QUEUE_BACKEND, JobCatalogue, Clock, LOGGER, JobMetrics],
    useFactory: (
      database: Database,
      backend: QueueBackend,
      catalogue: JobCatalogue,
      clock: Clock,
      logger: Logger,
      metrics: JobMetrics,
    ) => new JobRunner(database, backend, catalogue, clock, logger, metrics),
  },
  {
    provide: PeriodicTasks,
    inject: [Database, Clock, LOGGER, ...TASKS],
    useFactory: (database: Database, clock: Clock, logger: Logger, ...tasks: PeriodicTask[]) =>
      new PeriodicTasks(database, tasks, clock, logger),
  },
];
