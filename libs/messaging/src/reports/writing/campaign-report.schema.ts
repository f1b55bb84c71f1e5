import { jobType } from '#platform';
import { defineEntity, p } from '@mikro-orm/postgresql';

/** PENDING until its time has come and a worker has taken it. */
export type CampaignReportStatus = 'PENDING' | 'GENERATING' | 'GENERATED' | 'FAILED';

/** End of a version. */
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
  /** Author of the text. */
  aiModelId: string | null = null;
  failureReason: string | null = null;
  /** Grows with each try: the result of an earlier one is too late. */
  attempt = 0;
  /** Reservation of the credits that the current try holds. */
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

/** messaging.campaign_reports. The first version of each campaign is added with SQL when its time has come. */
export const CampaignReportSchema = defineEntity({
  class: CampaignReport,
  tableName: 'campaign_reports',
  schema: 'messaging',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number').primary(),
    campaignId: p.uuid(),
    version: p.integer(),
    locale: p.text(),
    status: p.string().$type<CampaignReportStatus>(),
    content: p.text().nullable(),
    aiModelId: p.text().nullable(),
    failureReason: p.text().nullable(),
    attempt: p.integer(),
    reservationId: p.uuid().nullable(),
    generatedAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});

/** Writes a version of a campaign's report. */
export const writeCampaignReport = jobType<{ reportId: string }>('reports.write', 'reports');
