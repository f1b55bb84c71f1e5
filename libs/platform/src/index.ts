export { type PublishedEvent, Publisher, SilentPublisher } from './publishing/publisher.js';
export { DatabaseClock, present, presentAnd } from './database/clock.js';
export { type Config, ConfigurationError, environmentVariables, loadConfig } from './config.js';
export type { RowsOf, Statements } from './database/transaction.js';
export { type AuditCheck, checkAuditLogs } from './audit/audit-chain.js';
export { type AuditFilter, AuditLogService } from './audit/audit-log.service.js';
export { AUDIT_ACTORS, AUDIT_OUTCOMES, auditedSettings, AuditTrail } from './database/audit-trail.js';
export { RequestsQuery } from './audit/request-log.js';
export { ArrayColumn } from './database/array-column.js';
export { named, PreparedQuery } from './database/statement.js';
export { HousekeepingService } from './jobs/housekeeping.service.js';
export { Database, type Tables } from './database/database.js';
export {
  databaseFailure,
  SQL_STATE,
  sqlStateOf,
  UnfitDatabaseError,
  unlessTaken,
} from './database/database-failure.js';
export { drainEnvironments } from './database/environments-due.js';
export {
  countOf,
  limitOf,
  ListOrder,
  NEWEST_FIRST,
  pagesOf,
  rowsOf,
  totalOf,
} from './database/list-order.js';
export { neverJoined, plannedForValues } from './database/planner.js';
export { excessiveRights, PendingMigrationsError, refuseUnfitDatabase } from './database/fit-database.js';
export { distribute, type Distribution, isolate, type Isolation } from './database/distribution.js';
export { migrate, refuseOtherDatabase } from './database/migrations.js';
export { Notifications } from './notifications.js';
export { PostgresNotifications } from './postgres-notifications.js';
export { runtimeUrl } from './database/runtime-url.js';
export { DecoratedMethods } from './decorated-methods.js';
export {
  cancel,
  done,
  doneUnlessAborted,
  Job,
  type JobContext,
  type JobResult,
  JobCatalogue,
  jobType,
  type NewJob,
  ResumableJob,
  retry,
  snooze,
} from './jobs/job.js';
export { JobDispatcher } from './jobs/job-dispatcher.js';
export { enqueue, openJobs } from './jobs/jobs.repository.js';
export { keptDay, keptFrom, type RetentionKind, RetiredTablesService } from './retired-tables.service.js';
export { before, drain, forEachApart, removeOldRows } from './jobs/drain.js';
export { leaseDue, leasedTo, unleased } from './jobs/lease.js';
export { JobMetrics, JobRunner } from './jobs/job-runner.js';
export { Periodic, periodicTasks, PeriodicTasks } from './jobs/periodic-tasks.js';
export type { QueueBackend } from './jobs/queue-backend.js';
export { waitForWorker } from './jobs/wait-for-worker.js';
export { Loop } from './lifecycle/loop.js';
export { createLogger, describeError, NestLogger, redact } from './logger.js';
export { endProcess, openProgramLog, settleMemory } from './lifecycle/program.js';
export { watchParent } from './lifecycle/supervisor.js';
export {
  MailTransport,
  type OutgoingMessage,
  type SendOutcome,
  type SmtpReply,
  type SmtpStage,
} from './mail/mail-transport.js';
export {
  checkRoute,
  parseSmtpUrl,
  type RouteCheck,
  RouteUnavailable,
  type SmtpRoute,
} from './mail/smtp-route.js';
export { SmtpTransport, type SmtpTransportOptions } from './mail/smtp-transport.js';
export { isOfOutage, isUnavailability, logFailure, outageLines } from './lifecycle/outage.js';
export { redisFailure } from './lifecycle/redis-failure.js';
export { collectProcessMetrics, HttpMetrics, MailMetrics } from './metrics.js';
export {
  databaseChecks,
  logDatabaseOutages,
  type HealthCheck,
  HealthChecks,
  listenFailure,
  Operations,
  OPERATIONS_PATHS,
  type OperationsPath,
  OperationsServer,
  type Readiness,
} from './operations.js';
export { CONFIG, LOGGER, PlatformModule, type PlatformOptions } from './platform.module.js';
export {
  type OutgoingAnswer,
  OutgoingHttp,
  OutgoingHttpError,
  type OutgoingRequest,
  postOutcome,
  type PostOutcome,
  webhookHeaders,
} from './outgoing-http.js';
export { projectRoot } from './project-root.js';
export { currentTraceparent, SPAN_ATTRIBUTES, traced, type TracedWork, tracedWithin } from './tracing.js';
export {
  type CheckedSecrets,
  openFirstRow,
  resealRows,
  type SealedRow,
  type SealedSecrets,
} from './secrets/sealed-rows.js';
export {
  decryptOctets,
  encrypt,
  SecretBox,
  type SecretContext,
  UnreadableSecretError,
} from './secrets/secret-box.js';
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
} from './secrets/tracking-tokens.js';
export {
  type LinkClaims,
  type LinkedMail,
  type LinkKind,
  LinkTokens,
  MailSeals,
  type SealedMail,
} from './secrets/link-tokens.js';
