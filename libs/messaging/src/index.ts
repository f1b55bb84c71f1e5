export {
  AUTOMATION_STATUSES,
  type AutomationFields,
  type AutomationStatus,
  TRIGGER_TYPES,
  type TriggerType,
} from './automations/automation.js';
export { type AutomationView, AutomationsQuery } from './automations/automations.query.js';
export { AutomationsModule, AutomationsWorkerModule } from './automations/automations.module.js';
export {
  AutomationInstaller,
  type InstalledAutomation,
} from './automations/templates/automation-installer.service.js';
export {
  automationTemplateNames,
  loadAutomationTemplate,
} from './automations/templates/automation-templates.js';
export {
  type AutomationDiscrepancy,
  AutomationsCheckQuery,
} from './automations/runs/automations-check.query.js';
export { AutomationEntries } from './automations/runs/automation-entries.service.js';
export { AutomationRunner } from './automations/runs/automation-runner.js';
export { AutomationSecrets } from './automations/webhooks/automation-secrets.service.js';
export { AutomationSecretsModule } from './automations/webhooks/automation-secrets.module.js';
export { SealedAutomationSecrets } from './automations/webhooks/sealed-automation-secrets.query.js';
export { WebhookCaller } from './automations/webhooks/webhook-caller.js';
export { type Execution, EXECUTION_STEP_STATUSES, ExecutionsQuery } from './automations/executions.query.js';
export { AutomationsService } from './automations/automations.service.js';
export {
  Campaign,
  CAMPAIGN_STATUSES,
  type CampaignDraft,
  type CampaignStatus,
  SEND_STRATEGIES,
  type SendStrategy,
} from './campaigns/campaign.js';
export { CampaignArchive } from './campaigns/campaign-archive.service.js';
export { CampaignControlService } from './campaigns/campaign-control.service.js';
export { CampaignDomainUsageQuery } from './campaigns/campaign-domain-usage.query.js';
export type { CampaignAnalysis } from './campaigns/campaign-analysis.service.js';
export { CampaignQueued, CampaignRetried, CampaignStopped } from './campaigns/campaign.events.js';
export { CampaignRetryService } from './campaigns/campaign-retry.service.js';
export { CampaignScheduler } from './campaigns/campaign-scheduler.js';
export { CampaignSchema } from './campaigns/campaign.schema.js';
export { CampaignSendingService } from './campaigns/campaign-sending.service.js';
export type { CampaignRow } from './campaigns/campaigns.query.js';
export { CampaignsService } from './campaigns/campaigns.service.js';
export { PreSendAnalysisService } from './campaigns/pre-send-analysis.service.js';
export { CampaignClosingService } from './deliveries/campaign-closing.service.js';
export { CampaignDispatchService } from './deliveries/campaign-dispatch.service.js';
export { type CampaignPreview, CampaignPreviewService } from './deliveries/campaign-preview.service.js';
export { CampaignRetryDeliveriesService } from './deliveries/campaign-retry-deliveries.service.js';
export { DeliveriesQuery, type DeliveryRow } from './deliveries/deliveries.query.js';
export { DELIVERY_STATES, type DeliveryKind, type MailLinks } from './deliveries/delivery.js';
export { DeliveryEngine } from './deliveries/delivery-engine.js';
export { DeliveryActivityQuery } from './deliveries/delivery-activity.query.js';
export { OptInDeliveriesService } from './deliveries/opt-in-deliveries.service.js';
export { type ErasedPerson, MailErasureService } from './erasure/mail-erasure.service.js';
export {
  type MailPerson,
  type MailPersonalData,
  MailPersonalDataQuery,
} from './erasure/mail-personal-data.query.js';
export { TestMailsService } from './deliveries/test-mails.service.js';
export { type DescribedMail, MailPagesService, type Unsubscriber } from './mail-pages/mail-pages.service.js';
export { MailViewService } from './mail-pages/mail-view.service.js';
export { MailPersonalDataModule, MessagingModule } from './messaging.module.js';
export { MessagingWorkerModule } from './messaging-worker.module.js';
export { type CampaignStatistics } from './reports/campaign-statistics.js';
export { DeliveriesExportMaker } from './reports/deliveries-export-maker.js';
export { DeliveriesExportRequested } from './reports/report-export.events.js';
export { CampaignBreakdownDue, CampaignReportRequested } from './campaign-reports/campaign-report.events.js';
export type { CampaignReport } from './campaign-reports/campaign-report.js';
export type { CampaignOverview } from './campaign-reports/campaign-overview.js';
export { CampaignOverviewQuery } from './campaign-reports/campaign-overview.query.js';
export { CampaignReportsService } from './campaign-reports/campaign-reports.service.js';
export { loadReportLocale } from './campaign-reports/report-locales.js';
export { type ReportLink, ReportLinks } from './campaign-reports/report-links.service.js';
export { ReportWritingService } from './campaign-reports/report-writing.service.js';
export { CampaignBreakdowns } from './campaign-reports/campaign-breakdowns.service.js';
export { RequestDueBreakdowns } from './campaign-reports/request-due-breakdowns.task.js';
export { RequestDueReports } from './campaign-reports/request-due-reports.task.js';
export { CampaignStatisticsQuery } from './reports/campaign-statistics.query.js';
export { RemoveOldExports } from './reports/remove-old-exports.task.js';
export { ReportExportRequested } from './reports/report-export.events.js';
export { ReportExportMaker } from './reports/report-export-maker.js';
export { ReportExportsService } from './reports/report-exports.service.js';
export { type TestInboxMessage, type OpenedTestInboxMessage } from './test-inbox/test-inbox-message.js';
export { ReportedDistrust } from './deliveries/reported-distrust.service.js';
export { GuardSenders } from './sending-guard/guard-senders.task.js';
export { GuardSending } from './sending-guard/guard-sending.task.js';
export { SendingStops } from './sending-guard/sending-stops.service.js';
export { TestInboxQuery } from './test-inbox/test-inbox.query.js';
export { TrimTestInboxes } from './test-inbox/trim-test-inboxes.task.js';
export { type CampaignDiscrepancy, StatisticsCheckQuery } from './reports/statistics-check.query.js';
export { TIMELINE_INTERVALS, type TimelineInterval, type TimelinePoint } from './reports/timeline.js';
export { TimelineQuery } from './reports/timeline.query.js';
export { DeliveryFeedback } from './tracking/delivery-feedback.service.js';
export { MailboxSimulator } from './tracking/mailbox-simulator.service.js';
export { TrackedLinks } from './tracking/tracked-links.service.js';
export type { TrackedRequest } from './tracking/tracking-recorder.service.js';
