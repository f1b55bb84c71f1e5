export {
  AUTOMATION_STATUSES,
  type AutomationFields,
  type AutomationStatus,
  TRIGGER_TYPES,
  type TriggerType,
} from './automations/automation.js';
export { AutomationSecretsService } from './automations/automation-secrets.service.js';
export {
  AutomationSecretsModule,
  AutomationsModule,
  AutomationsWorkerModule,
} from './automations/automations.module.js';
export { AutomationsQuery, type AutomationView } from './automations/automations.query.js';
export { AutomationsService } from './automations/editing/automations.service.js';
export {
  automationTemplateNames,
  AutomationTemplatesService,
  type InstalledAutomation,
  loadAutomationTemplate,
} from './automations/editing/automation-templates.service.js';
export { AutomationEntriesService } from './automations/runs/automation-entries.service.js';
export { AutomationRunner } from './automations/runs/automation-runner.job.js';
export {
  type Execution,
  EXECUTION_STEP_STATUSES,
  ExecutionsQuery,
} from './automations/runs/executions.query.js';
export { WebhookCaller } from './automations/runs/webhook-caller.job.js';
export {
  Campaign,
  CAMPAIGN_STATUSES,
  type CampaignDraft,
  type CampaignStatus,
  SEND_STRATEGIES,
  type SendStrategy,
} from './campaigns/campaign.js';
export { TEST_DEFAULTS, TEST_MEASURES, UNDECIDED_RULES } from './campaigns/campaign-variants.js';
export { VariantTestsService } from './campaigns/variant-tests.service.js';
export { CampaignLifecycleService } from './campaigns/campaign-lifecycle.service.js';
export type { CampaignAnalysis } from './campaigns/pre-send-analysis.service.js';
export { CampaignSchedulerService } from './campaigns/campaign-scheduler.service.js';
export { messagingEntities } from './messaging-tables.js';
export type { CampaignRow } from './campaigns/campaign.repository.js';
export type { CampaignTranslations } from './content/document/translated-content.js';
export { CampaignsService } from './campaigns/campaigns.service.js';
export { PreSendAnalysisService } from './campaigns/pre-send-analysis.service.js';
export { CampaignExpansionService } from './sending/engine/campaign-expansion.service.js';
export { DeliveriesQuery, type DeliveryFilters, type DeliveryRow } from './sending/deliveries.query.js';
export { DELIVERY_STATES, type DeliveryKind, type MailLinks } from './deliveries/delivery.js';
export { DeliveryEngineService } from './sending/engine/delivery-engine.service.js';
export { AGENT_KINDS } from './engagement/classification.js';
export { DeliveryActivityQuery } from './engagement/delivery-activity.query.js';
export { OptInMailQueue, OptInMailsModule } from './sending/mails/opt-in-mails.service.js';
export {
  type ErasedPerson,
  type MailPersonalData,
  MailPersonalDataService,
} from './mail-personal-data.service.js';
export { ACTIVITY_TYPES, PersonActivityQuery } from './person-activity.query.js';
export { type PersonExport, PersonExportService } from './person-export.service.js';
export {
  KEPT_CONTENT,
  BATCH_MODES,
  MESSAGE_STATUSES,
  type MessageRecipient,
  type MessageView,
  type NewMessage,
} from './messages/message.js';
export { MOST_ATTACHMENTS } from './messages/attachment.js';
export { MessageSealsModule, MessageSealsService } from './messages/message-seals.service.js';
export { MESSAGE_EVENT_TYPES, MessageEventsQuery } from './messages/message-events.query.js';
export { MediaFilesService, type ServedMedia } from './media/media-files.service.js';
export { MediaService, ShownInMailsError } from './media/media.service.js';
export {
  MEDIA_PATH,
  type MediaView,
  MOST_MEDIA_BYTES,
  type NamedMedia,
  parseMediaFileName,
  widthFor,
} from './media/media.js';
export { IMAGE_TYPES } from './content/processes/image-type.js';
export { MessagesQuery } from './messages/messages.query.js';
export { MessageAcceptanceService } from './messages/message-acceptance.service.js';
export { MessagesService } from './messages/messages.service.js';
export { TestMailsService } from './sending/mails/test-mails.service.js';
export { type DescribedMail, MailPagesService, type Unsubscriber } from './engagement/mail-pages.service.js';
export { MessageRenderingService } from './sending/mails/message-rendering.service.js';
export {
  type ContentPreview,
  type MailPreview,
  type MailView,
  MailViewService,
} from './sending/mails/mail-view.service.js';
export { LinkedMailsService } from './deliveries/linked-mails.service.js';
export { BounceRecordingModule, PersonalDataModule, MessagingModule } from './messaging.module.js';
export { MessagingWorkerModule } from './messaging-worker.module.js';
export { type CampaignStatistics } from './reports/statistics/campaign-statistics.js';
export type { CampaignReport } from './reports/writing/campaign-report.schema.js';
export { CampaignLinksQuery } from './reports/statistics/campaign-links.query.js';
export {
  type CampaignLanguages,
  type CampaignOverview,
  CampaignOverviewQuery,
} from './reports/statistics/campaign-overview.query.js';
export {
  CampaignReportsService,
  type ReportLink,
  REPORT_LINK_DAYS,
} from './reports/writing/campaign-reports.service.js';
export { loadReportLocale } from './reports/writing/report-writing.service.js';
export { type KeptDays, ProjectRetentionRepository } from './project-retention.repository.js';
export { RetentionRunner } from './retention.job.js';
export { CampaignStatisticsQuery } from './reports/statistics/campaign-statistics.query.js';
export {
  daysOfStatistics,
  DEFAULT_DAYS,
  type MailStatistics,
  MailStatisticsQuery,
  STATISTICS_DIMENSIONS,
  STATISTICS_INTERVALS,
} from './reports/statistics/mail-statistics.query.js';
export { DataExportsService } from './reports/exports/data-exports.service.js';
export {
  EXPORT_FORMATS,
  EXPORT_KINDS,
  EXPORT_STATUSES,
  type ExportKind,
} from './reports/exports/data-export.js';
export { ReportExportsService } from './reports/exports/report-exports.service.js';
export { DeliveryPacingService } from './sending/delivery-pacing.service.js';
export { SendingGuardService } from './sending/sending-guard.service.js';
export { SendingStopsService } from './campaigns/sending-stops.service.js';
export {
  type OpenedTestInboxMessage,
  type TestInboxMessage,
  TestInboxService,
} from './sending/test-inbox.service.js';
export { AutomationReportQuery } from './reports/statistics/automation-report.query.js';
export { automationDiscrepancies } from './reports/statistics/automation-check.query.js';
export {
  type CampaignDiscrepancy,
  statisticsDiscrepancies,
} from './reports/statistics/statistics-check.query.js';
export {
  TIMELINE_INTERVALS,
  type TimelineInterval,
  type TimelinePoint,
  TimelineQuery,
} from './reports/statistics/timeline.query.js';
export { DeliveryFeedbackService } from './engagement/delivery-feedback.service.js';
export { MailboxSimulatorService } from './sending/mailbox-simulator.service.js';
export { type TrackedRequest, TrackingService } from './engagement/tracking.service.js';
export { TEMPLATE_KEY } from './content/document/content-document.js';
export { TEMPLATE_KINDS } from './content/merge/template-variables.js';
export { VARIABLE_TYPES } from './content/merge/template-variables.js';
export { type Template, TEMPLATE_ALIAS } from './templates/template.js';
export { TemplatesService } from './templates/templates.service.js';
export { TemplatePreviewsService } from './sending/mails/template-previews.service.js';
export { type Overview, OverviewQuery } from './overview.query.js';
