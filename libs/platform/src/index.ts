export { type PublishedEvent, Publisher, SilentPublisher } from './publishing/publisher.js';
export { DatabaseClock } from './clock/database-clock.js';
export { present, presentAnd } from './clock/present.js';
export { type Config, ConfigurationError, loadConfig } from './config/config.js';
export { environmentVariables } from './config/environment-variables.js';
export { ArrayColumn } from './database/array-column.js';
export { PreparedQuery } from './database/prepared-query.js';
export { CreatePartitions } from './jobs/create-partitions.task.js';
export { Database } from './database/database.js';
export { databaseFailure } from './database/database-failure.js';
export { drainEnvironments } from './database/environments-due.js';
export { countOf, limitOf, ListOrder, NEWEST_FIRST, totalOf } from './database/list-order.js';
export { environmentOf, isOf, neverJoined } from './database/planner.js';
export { prepared } from './database/prepared.js';
export { excessiveRights, refuseUnfitDatabase } from './database/fit-database.js';
export { PendingMigrationsError } from './database/migration-records.js';
export { type Distribution, distribute } from './database/distribution.js';
export { type Isolation, isolate } from './database/isolation.js';
export { migrate } from './database/migrations.js';
export { Notifications } from './notifications.js';
export { PostgresNotifications } from './postgres-notifications.js';
export { runtimeUrl } from './database/runtime-url.js';
export { SQL_STATE, sqlStateOf } from './database/sql-state.js';
export type { Tables } from './database/tables.js';
export { UnfitDatabaseError } from './database/unfit-database.error.js';
export {
  cancel,
  done,
  doneUnlessAborted,
  type JobContext,
  type JobResult,
  JobCatalogue,
  ResumableJob,
  retry,
  snooze,
  TransactionalJob,
} from './jobs/job.js';
export { keptDay, keptFrom, type RetentionKind } from './retention/retention-horizon.js';
export { RetiredTables } from './retention/retired-tables.service.js';
export { drain, forEachApart } from './jobs/drain.js';
export { leaseDue, leasedTo, unleased } from './jobs/lease.js';
export { JobRunner } from './jobs/job-runner.js';
export { PeriodicTask, PeriodicTasks } from './jobs/periodic-tasks.js';
export type { QueueBackend } from './jobs/queue-backend.js';
export { Relay } from './jobs/relay.js';
export { RemoveExpiredRows } from './jobs/remove-expired-rows.task.js';
export { before, type OldRows, RemoveOldRows } from './jobs/remove-old-rows.js';
export { waitForWorker } from './jobs/wait-for-worker.js';
export { Loop } from './lifecycle/loop.js';
export { createLogger } from './logging/logger.js';
export { NestLogger } from './logging/nest-logger.js';
export { openProgramLog } from './logging/program-log.js';
export { watchParent } from './lifecycle/parent-watch.js';
export { settleMemory } from './lifecycle/settle-memory.js';
export { describeError, redact } from './logging/redact.js';
export {
  MailTransport,
  type OutgoingMessage,
  type SendOutcome,
  type SmtpReply,
  type SmtpStage,
} from './mail/mail-transport.js';
export { checkRoute, type RouteCheck } from './mail/check-route.js';
export { RouteUnavailable } from './mail/smtp-opening.js';
export type { SmtpRoute } from './mail/smtp-route.js';
export { SmtpTransport, type SmtpTransportOptions } from './mail/smtp-transport.js';
export { isOfOutage, logFailure, outageLines } from './lifecycle/outage.js';
export { redisFailure } from './lifecycle/redis-failure.js';
export { isUnavailability } from './lifecycle/unavailability.js';
export { JobMetrics } from './jobs/job-metrics.js';
export { MailMetrics } from './metrics/mail-metrics.js';
export { HttpMetrics } from './metrics/http-metrics.js';
export { collectProcessMetrics } from './metrics/process-metrics.js';
export { databaseChecks, databaseOutageLines } from './operations/database-checks.js';
export { type HealthCheck, HealthChecks, type Readiness } from './operations/health-checks.js';
export { listenFailure } from './operations/listen-failure.js';
export { Operations, OPERATIONS_PATHS, type OperationsPath } from './operations/operations.js';
export { OperationsServer } from './operations/operations-server.js';
export { awaiting, publish } from './outbox/outbox.js';
export { CONFIG, LOGGER, PlatformModule, type PlatformOptions } from './platform.module.js';
export { OutgoingHttp, type OutgoingAnswer, type OutgoingRequest } from './outgoing-http/outgoing-http.js';
export { OutgoingHttpError } from './outgoing-http/outgoing-http.error.js';
export { postOutcome, type PostOutcome } from './outgoing-http/post-outcome.js';
export { webhookHeaders } from './outgoing-http/signed-webhook.js';
export { projectRoot } from './project-root.js';
export { type SealedRow, SealedRows } from './secrets/sealed-rows.js';
export type { SealedSecrets } from './secrets/sealed-secrets.js';
export { SecretBox, type SecretContext, UnreadableSecretError } from './secrets/secret-box.js';
export {
  CLAIMS_BYTES,
  DELIVERY_ID_BEGIN,
  environmentIdOf,
  linkSetOf,
  MAX_TRACKED_PLACES,
  placeOf,
  type TrackedMail,
  type TrackingClaims,
  trackingClaimsOf,
  TrackingTokens,
} from './tokens/tracking-tokens.js';
export { MailSeals, type SealedMail } from './tokens/mail-seals.js';
export { type LinkClaims, type LinkedMail, type LinkKind, LinkTokens } from './tokens/link-tokens.js';
