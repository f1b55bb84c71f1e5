import type { CampaignCounts } from '../../libs/messaging/src/reports/statistics/campaign-statistics.js';
import type { PastCampaign, ReportFacts } from '../../libs/messaging/src/reports/statistics/report-facts.js';

const NOTHING: CampaignCounts = {
  totalSent: 0,
  hardBounced: 0,
  softBounced: 0,
  totalOpened: 0,
  uniqueOpens: 0,
  totalClicked: 0,
  uniqueClicks: 0,
  totalUnsubscribed: 0,
  spamComplaints: 0,
};

export function countsOf(counts: Partial<CampaignCounts>): CampaignCounts {
  return { ...NOTHING, ...counts };
}

export function pastCampaign(counts: Partial<CampaignCounts>, name = 'Earlier'): PastCampaign {
  return { name, counts: countsOf(counts), isTracked: true };
}

/** A campaign of which nothing is known but what a test says. */
export function factsOf(facts: Partial<ReportFacts>): ReportFacts {
  const domains = facts.domains ?? [];
  return {
    campaign: { name: 'May', subject: 'News of May' },
    isTracked: true,
    isEarly: false,
    areOpensDue: true,
    counts: countsOf({}),
    history: [],
    links: [],
    clickers: 0,
    hours: [],
    domains,
    arrivals: {
      mails: domains.reduce((sum, { mails }) => sum + mails, 0),
      undelivered: domains.reduce((sum, { undelivered }) => sum + undelivered, 0),
    },
    ...facts,
  };
}
