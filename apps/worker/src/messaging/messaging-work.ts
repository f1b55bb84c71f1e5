import {
  CampaignBreakdownDue,
  CampaignQueued,
  CampaignReportRequested,
  CampaignRetried,
  CampaignScheduler,
  CampaignStopped,
  CountBreakdown,
  DeliveriesExportRequested,
  DeliveryEngine,
  ExportDeliveries,
  ExportReport,
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
  WriteCampaignReport,
} from '#messaging';
import type { ContextWork } from '../context-work.js';
import { CloseCampaign, ExpandCampaign, RetryFailedDeliveries } from './campaign.jobs.js';
import { SendConfirmationMail } from './send-confirmation-mail.job.js';
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
