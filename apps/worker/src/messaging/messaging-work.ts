import {
  CampaignScheduler,
  CountBreakdown,
  DeliveryEngine,
  ExportDeliveries,
  ExportReport,
  GuardSenders,
  GuardSending,
  MailboxSimulator,
  RemoveErasedMails,
  RemoveOldExports,
  RequestDueBreakdowns,
  RequestDueReports,
  RetentionRunner,
  TrimTestInboxes,
  WriteCampaignReport,
} from '#messaging';
import type { ContextWork } from '../worker.js';
import { CloseCampaign, ExpandCampaign, RetryFailedDeliveries } from './campaign.jobs.js';

export const messagingWork: ContextWork = {
  jobs: [
    CloseCampaign,
    CountBreakdown,
    ExpandCampaign,
    ExportDeliveries,
    ExportReport,
    RetryFailedDeliveries,
    WriteCampaignReport,
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
