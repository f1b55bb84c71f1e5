/** PENDING until its time has come and a worker has taken it. */
export type CampaignReportStatus = 'PENDING' | 'GENERATING' | 'GENERATED' | 'FAILED';

/** How a version ended. */
export type ReportEnding =
  | { readonly status: 'GENERATED'; readonly content: string; readonly aiModelId: string }
  | { readonly status: 'FAILED'; readonly failureReason: string; readonly aiModelId: string | null };

/** A version of a campaign's report in words. */
export class CampaignReport {
  readonly id: string;
  readonly environmentId: number;
  readonly campaignId: string;
  /** 1 for the one that is made by itself. */
  readonly version: number;
  /** BCP 47. */
  readonly locale: string;
  status: CampaignReportStatus = 'PENDING';
  /** Markdown. */
  content: string | null = null;
  /** Who wrote it. */
  aiModelId: string | null = null;
  failureReason: string | null = null;
  /** Grows with each try: what an earlier one brings is too late. */
  attempt = 0;
  /** Of the credits that the current try has set aside. */
  reservationId: string | null = null;
  generatedAt: Date | null = null;
  readonly createdAt: Date;
  updatedAt: Date;

  constructor(
    of: Pick<CampaignReport, 'id' | 'environmentId' | 'campaignId' | 'version' | 'locale'>,
    now: Date,
  ) {
    this.id = of.id;
    this.environmentId = of.environmentId;
    this.campaignId = of.campaignId;
    this.version = of.version;
    this.locale = of.locale;
    this.createdAt = now;
    this.updatedAt = now;
  }

  /** Begins the next try. */
  take(now: Date): void {
    this.status = 'GENERATING';
    this.attempt += 1;
    this.reservationId = null;
    this.updatedAt = now;
  }

  end(ending: ReportEnding, now: Date): void {
    Object.assign(this, ending);
    this.reservationId = null;
    this.generatedAt = ending.status === 'GENERATED' ? now : null;
    this.updatedAt = now;
  }
}

/** A text of this length fills several pages. */
export const LONGEST_CONTENT = 12_000;

/** The analyst that comes with Mailwright, asks nobody and costs nothing. */
export const BUILT_IN_ANALYST = 'builtin/analyst-1';
