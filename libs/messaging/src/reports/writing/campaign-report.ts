/** PENDING until its time has come and a worker has taken it. */
export type CampaignReportStatus = 'PENDING' | 'GENERATING' | 'GENERATED' | 'FAILED';

/** A version of a campaign's report in words. */
export interface CampaignReport {
  readonly campaignId: string;
  readonly status: CampaignReportStatus;
  /** Markdown. */
  readonly content: string | null;
  /** BCP 47. */
  readonly locale: string;
  /** Who wrote it. */
  readonly aiModelId: string | null;
  /** 1 for the one that is made by itself. */
  readonly version: number;
  readonly failureReason: string | null;
  readonly generatedAt: Date | null;
  readonly createdAt: Date | null;
  readonly updatedAt: Date | null;
}

/** A text of this length fills several pages. */
export const LONGEST_CONTENT = 12_000;

/** The analyst that comes with Mailwright, asks nobody and costs nothing. */
export const BUILT_IN_ANALYST = 'builtin/analyst-1';
