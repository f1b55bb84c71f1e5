export { classifyRefusal, type Refusal } from './bounces/bounce-class.js';
export { BouncesModule } from './bounces/bounces.module.js';
export { RemoveOldReports } from './bounces/remove-old-reports.task.js';
export { BounceReported, ComplaintReported } from './bounces/report.events.js';
export { readReport, type Report } from './bounces/report.js';
export { ReportsService } from './bounces/reports.service.js';
export { BOUNCE_CONSEQUENCES } from './bounces/bounce-class.js';
export type { BounceClass } from './bounces/bounce-table.js';
export { type ReturnPathClaims, ReturnPaths } from './bounces/return-path.js';
export { ReturnPathsModule } from './bounces/return-paths.module.js';
export { nextAttemptAt } from './bounces/retry-schedule.js';
export { type CampaignFacts, criticalChecks } from './pre-send/critical-checks.js';
export {
  type CheckCode,
  type PreSendAnalysis,
  type PreSendCheck,
  summarise,
} from './pre-send/pre-send-check.js';
