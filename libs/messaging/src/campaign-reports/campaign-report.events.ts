import { defineEvent } from '#kernel';

/** A version of a campaign's report is to be written now. */
export const CampaignReportRequested = defineEvent<{ reportId: string }>(
  'messaging.campaign_report_requested.v1',
);
