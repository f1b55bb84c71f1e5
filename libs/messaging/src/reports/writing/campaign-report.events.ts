import { defineEvent } from '#kernel';

/** A version of a campaign's report is to be written now. */
export const CampaignReportRequested = defineEvent<{ reportId: string }>(
  'messaging.campaign_report_requested.v1',
);

/** The figures of a campaign by link and provider are to be counted now. */
export const CampaignBreakdownDue = defineEvent<{ campaignId: string }>(
  'messaging.campaign_breakdown_due.v1',
);
