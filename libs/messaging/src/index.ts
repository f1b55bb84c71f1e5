export {
  Campaign,
  CAMPAIGN_STATUSES,
  type CampaignDraft,
  type CampaignStatus,
  SEND_STRATEGIES,
  type SendStrategy,
} from './campaigns/campaign.js';
export { CampaignQueued } from './campaigns/campaign.events.js';
export { CampaignSchema } from './campaigns/campaign.schema.js';
export { CampaignSendingService } from './campaigns/campaign-sending.service.js';
export type { CampaignRow } from './campaigns/campaigns.query.js';
export { CampaignsService } from './campaigns/campaigns.service.js';
export { CampaignExpansionService } from './deliveries/campaign-expansion.service.js';
export type { DeliveryKind, MailLinks } from './deliveries/delivery.js';
export { DeliveryEngine } from './deliveries/delivery-engine.js';
export { DeliveryActivityQuery } from './deliveries/delivery-activity.query.js';
export { OptInDeliveriesService } from './deliveries/opt-in-deliveries.service.js';
export { type ErasedPerson, MailErasureService } from './erasure/mail-erasure.service.js';
export {
  type MailPerson,
  type MailPersonalData,
  MailPersonalDataQuery,
} from './erasure/mail-personal-data.query.js';
export { type DescribedMail, MailPagesService, type Unsubscriber } from './mail-pages/mail-pages.service.js';
export { MailPersonalDataModule, MessagingModule, MessagingWorkerModule } from './messaging.module.js';
export { type CampaignStatistics } from './reports/campaign-statistics.js';
export { CampaignStatisticsQuery } from './reports/campaign-statistics.query.js';
export { RemoveOldExports } from './reports/remove-old-exports.task.js';
export { ReportExportRequested } from './reports/report-export.events.js';
export { ReportExportMaker } from './reports/report-export-maker.js';
export { ReportExportsService } from './reports/report-exports.service.js';
export { type TestInboxMessage, type OpenedTestInboxMessage } from './test-inbox/test-inbox-message.js';
export { TestInboxQuery } from './test-inbox/test-inbox.query.js';
export { TrimTestInboxes } from './test-inbox/trim-test-inboxes.task.js';
