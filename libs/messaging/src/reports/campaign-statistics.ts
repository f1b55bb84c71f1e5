export type StatisticsStatus = 'COLLECTING' | 'LIVE' | 'COMPLETE' | 'PARTIAL';

/** What was counted of a campaign; whole numbers. */
export interface CampaignCounts {
  readonly totalSent: number;
  readonly hardBounced: number;
  readonly softBounced: number;
  readonly totalOpened: number;
  readonly uniqueOpens: number;
  readonly totalClicked: number;
  readonly uniqueClicks: number;
  readonly totalUnsubscribed: number;
  readonly spamComplaints: number;
}

/** Fractions from 0 to 1, and 0 where the denominator is 0. */
export interface CampaignRates {
  readonly deliveryRate: number;
  readonly openRate: number;
  readonly clickThroughRate: number;
  readonly clickToOpenRate: number;
  readonly unsubscribeRate: number;
  readonly bounceRate: number;
}

export interface CampaignStatistics extends CampaignCounts, CampaignRates {
  readonly campaignId: string;
  readonly status: StatisticsStatus;
  readonly totalDelivered: number;
  readonly totalBounced: number;
  /** 0–100. */
  readonly engagementScore: number;
  readonly collectedAt: Date | null;
  readonly lastUpdatedAt: Date | null;
  readonly completedAt: Date | null;
}

/** delivered = sent − bounced; each rate's denominator as its name in the contract says. */
export function ratesOf(
  counts: CampaignCounts,
): CampaignRates & { totalDelivered: number; totalBounced: number } {
  const totalBounced = counts.hardBounced + counts.softBounced;
  const totalDelivered = counts.totalSent - totalBounced;
  return {
    totalBounced,
    totalDelivered,
    deliveryRate: ratio(totalDelivered, counts.totalSent),
    openRate: ratio(counts.uniqueOpens, totalDelivered),
    clickThroughRate: ratio(counts.uniqueClicks, totalDelivered),
    clickToOpenRate: ratio(counts.uniqueClicks, counts.uniqueOpens),
    unsubscribeRate: ratio(counts.totalUnsubscribed, totalDelivered),
    bounceRate: ratio(totalBounced, counts.totalSent),
  };
}

/**
 * COLLECTING while nothing was sent. Opens and clicks are not tracked, and a report without them is PARTIAL.
 */
export function statisticsStatus({ totalSent }: CampaignCounts): StatisticsStatus {
  return totalSent === 0 ? 'COLLECTING' : 'PARTIAL';
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
