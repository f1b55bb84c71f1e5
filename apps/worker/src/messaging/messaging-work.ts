import {
  CampaignBreakdownDue,
  CampaignQueued,
  CampaignReportRequested,
  CampaignRetried,
  CampaignScheduler,
  CampaignStopped,
  DeliveriesExportRequested,
  DeliveryEngine,
  GuardSenders,
  GuardSending,
  MailboxSimulator,
  RemoveErasedMails,
  RemoveOldExports,
  ReportExportRequested,
  RequestDueBreakdowns,
  RequestDueReports,
  RetentionRunner,
  TrimTestInboxes,
} from '#messaging';
import type { ContextWork } from '../context-work.js';
import { CloseCampaign, ExpandCampaign, RetryFailedDeliveries } from './campaign.jobs.js';
import { CountBreakdown } from './count-breakdown.job.js';
import { ExportDeliveries } from './export-deliveries.job.js';
import { ExportReport } from './export-report.job.js';
import { SendConfirmationMail } from './send-confirmation-mail.job.js';
import { WriteCampaignReport } from './write-campaign-report.job.js';
import { SendConfirmationMails } from './send-confirmation-mails.job.js';

export const messagingWork: ContextWork = {
  jobs: [
    CloseCampaign,
    CountBreakdown,
    ExpandCampaign,
    ExportDeliveries,
    ExportReport,
    RetryFailedDeliveries,
    SendConfirmationMail,
    WriteCampaignReport,
    SendConfirmationMails,
  ],
  events: [
    CampaignBreakdownDue,
    CampaignQueued,
    CampaignReportRequested,
    CampaignRetried,
    CampaignStopped,
    DeliveriesExportRequested,
    ReportExportRequested,
  ],
  tasks: [
    GuardSenders,
    GuardSending,
    RemoveErasedMails,
    RemoveOldExports,
    RequestDueBreakdowns,
    RequestDueReports,
    TrimTestInboxes,
  ],
  parts: [CampaignScheduler, DeliveryEngine, MailboxSimulator, RetentionRunner],
};
