import type { CampaignStatus } from '../../campaigns/campaign.js';

export type StatisticsStatus = 'COLLECTING' | 'LIVE' | 'COMPLETE' | 'PARTIAL';

const COUNTS = [
  'totalSent',
  'hardBounced',
  'softBounced',
  'totalOpened',
  'uniqueOpens',
  'totalClicked',
  'uniqueClicks',
  'totalUnsubscribed',
  'spamComplaints',
] as const;

/** Counts of a campaign; whole numbers. */
export type CampaignCounts = Readonly<Record<(typeof COUNTS)[number], number>>;

/** The counts alone, of a row that has more. */
export const countsOf = (row: CampaignCounts): CampaignCounts =>
  Object.fromEntries(COUNTS.map((name) => [name, row[name]])) as CampaignCounts;

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

/** Facts that the status of a campaign's numbers follows from. */
interface StatisticsProgress {
  readonly totalSent: number;
  readonly campaignStatus: CampaignStatus;
  /** Its mails have pixel and tracked links, and opens and clicks are recorded. */
  readonly isTracked: boolean;
  readonly lastSentAt: Date | null;
}

const LIVE_MS = 72 * 3_600_000;
const SENDING: readonly CampaignStatus[] = ['QUEUED_FOR_SENDING', 'SENDING', 'PAUSED'];

/**
 * COLLECTING while nothing was sent; PARTIAL without opens and clicks; LIVE while it is sent and for 72 h after; then
 * COMPLETE.
 */
export function statisticsStatus(progress: StatisticsProgress, now: Date): StatisticsStatus {
  const { totalSent, campaignStatus, isTracked, lastSentAt } = progress;
  if (totalSent === 0) return 'COLLECTING';
  if (!isTracked) return 'PARTIAL';
  if (SENDING.includes(campaignStatus)) return 'LIVE';
  return lastSentAt !== null && now.getTime() - lastSentAt.getTime() < LIVE_MS ? 'LIVE' : 'COMPLETE';
}

/** Weights of an open, a click, a reader who leaves and one who complains. */
const WEIGHTS = { open: 1, click: 4, unsubscribe: -4, complaint: -20 } as const;

/** Engagement with a campaign's mails, for each that was delivered; never below 0. */
export function engagementIndex(counts: CampaignCounts): number {
  const { openRate, clickThroughRate, unsubscribeRate, totalDelivered } = ratesOf(counts);
  const complaintRate = ratio(counts.spamComplaints, totalDelivered);
  const index =
    WEIGHTS.open * openRate +
    WEIGHTS.click * clickThroughRate +
    WEIGHTS.unsubscribe * unsubscribeRate +
    WEIGHTS.complaint * complaintRate;
  return Math.max(0, index);
}

/**
 * 0–100 with one decimal: 100 · e / (e + a), where e is the campaign's index and a the average of the others. So 50
 * is as good as the average, and twice as good is 67. Without others a campaign is its own average; 0 while nobody
 * did anything. docs/tracking.md explains it to users.
 */
export function engagementScore(index: number, others: readonly number[]): number {
  const average = others.length === 0 ? index : others.reduce((sum, one) => sum + one, 0) / others.length;
  return Math.round(ratio(index, index + average) * 1_000) / 10;
}

/** At most 1: an AMBIGUOUS mail may be opened though it does not count as sent. */
function ratio(part: number, whole: number): number {
  return whole <= 0 ? 0 : Math.min(1, part / whole);
}
