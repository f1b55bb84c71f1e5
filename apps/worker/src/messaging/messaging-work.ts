import {
  CampaignQueued,
  CampaignRetried,
  CampaignScheduler,
  CampaignStopped,
  DeliveriesExportRequested,
  DeliveryEngine,
  GuardSending,
  MailboxSimulator,
  RemoveOldExports,
  ReportExportRequested,
  TrimTestInboxes,
} from '#messaging';
import type { ContextWork } from '../context-work.js';
import { CloseCampaign } from './close-campaign.job.js';
import { ExpandCampaign } from './expand-campaign.job.js';
import { ExportDeliveries } from './export-deliveries.job.js';
import { ExportReport } from './export-report.job.js';
import { RetryFailedDeliveries } from './retry-failed-deliveries.job.js';
import { SendConfirmationMail } from './send-confirmation-mail.job.js';

export const messagingWork: ContextWork = {
  jobs: [
    CloseCampaign,
    ExpandCampaign,
    ExportDeliveries,
    ExportReport,
    RetryFailedDeliveries,
    SendConfirmationMail,
  ],
  events: [
    CampaignQueued,
    CampaignRetried,
    CampaignStopped,
    DeliveriesExportRequested,
    ReportExportRequested,
  ],
  tasks: [GuardSending, RemoveOldExports, TrimTestInboxes],
  parts: [CampaignScheduler, DeliveryEngine, MailboxSimulator],
};
