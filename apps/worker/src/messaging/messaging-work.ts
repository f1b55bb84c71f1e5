import { CountBreakdown, ExportDeliveries, ExportReport, WriteCampaignReport } from '#messaging';
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
};
