import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, InvalidStateError, newId, NotFoundError, type ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, publish, type Sql } from '#platform';
import { type CampaignStatus, isCampaignKey } from '../../campaigns/campaign.js';
import { CampaignReportRequested } from './campaign-report.events.js';
import type { CampaignReport } from './campaign-report.js';

interface ReportedCampaign {
  readonly id: string;
  readonly status: CampaignStatus;
  /** Null unless it was sent; it stays when the campaign is archived. */
  readonly completedAt: Date | null;
}

const COLUMNS = sql`
  campaign_id as "campaignId", status, content, locale, ai_model_id as "aiModelId", version,
  failure_reason as "failureReason", generated_at as "generatedAt", created_at as "createdAt", updated_at as "updatedAt"
`;

/** The reports on campaigns in words, as their readers ask for them. */
@Injectable()
export class CampaignReportsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** The latest version. `NotFoundError` without such a campaign, and before it was sent. */
  latest(scope: ProjectScope, campaignKey: string): Promise<CampaignReport> {
    return this.database.transaction(scope, async ({ db }) => {
      const campaign = await campaignOf(scope, db, campaignKey);
      const { rows } = await sql<CampaignReport>`
        select ${COLUMNS} from messaging.campaign_reports
        where environment_id = ${scope.environmentId} and campaign_id = ${campaign.id}
        order by version desc limit 1
      `.execute(db);
      if (rows[0] !== undefined) return rows[0];
      if (campaign.completedAt === null) throw new NotFoundError();
      return this.#awaited(campaign);
    });
  }

  /**
   * Has a new version written, now. One that waits yet is not written any more. Throws `NotFoundError`, or
   * `InvalidStateError` before the campaign was sent, and when it is archived.
   */
  request(scope: ProjectScope, campaignKey: string): Promise<CampaignReport> {
    return this.database.transaction(scope, async ({ db }) => {
      const campaign = await campaignOf(scope, db, campaignKey, sql`for update`);
      if (campaign.status !== 'SENT') {
        throw new InvalidStateError(
          `A report is written when the campaign was sent, and it is ${campaign.status}.`,
          campaign.status,
          ['SENT'],
        );
      }
      const version = await nextVersion(db, campaign.id);
      await sql`
        delete from messaging.campaign_reports where campaign_id = ${campaign.id} and status = 'PENDING'
      `.execute(db);
      return this.#add(scope, db, campaign.id, version);
    });
  }

  async #add(scope: ProjectScope, db: Sql, campaignId: string, version: number): Promise<CampaignReport> {
    const id = newId();
    const now = this.clock.now();
    const { rows } = await sql<CampaignReport>`
      insert into messaging.campaign_reports (id, environment_id, campaign_id, version, status, locale, created_at, updated_at)
      values (${id}, ${scope.environmentId}, ${campaignId}, ${version}, 'PENDING', ${this.config.AI_REPORT_LOCALE}, ${now}, ${now})
      returning ${COLUMNS}
    `.execute(db);
    if (rows[0] === undefined) throw new Error('The report was not written down.');
    await publish(db, scope, CampaignReportRequested({ reportId: id }));
    return rows[0];
  }

  /** The first version, which is made by itself and is not written down before its time. */
  #awaited({ id, completedAt }: ReportedCampaign): CampaignReport {
    return {
      campaignId: id,
      status: 'PENDING',
      content: null,
      locale: this.config.AI_REPORT_LOCALE,
      aiModelId: null,
      version: 1,
      failureReason: null,
      generatedAt: null,
      createdAt: completedAt,
      updatedAt: completedAt,
    };
  }
}

async function campaignOf(
  scope: ProjectScope,
  db: Sql,
  campaignKey: string,
  lock = sql``,
): Promise<ReportedCampaign> {
  if (!isCampaignKey(campaignKey)) throw new NotFoundError();
  const { rows } = await sql<ReportedCampaign>`
    select id, status, completed_at as "completedAt" from messaging.campaigns
    where environment_id = ${scope.environmentId} and campaign_key = ${campaignKey} and deleted_at is null ${lock}
  `.execute(db);
  if (rows[0] === undefined) throw new NotFoundError();
  return rows[0];
}

/** Version 1 is the one that is made by itself, so the first that is asked for is 2. */
async function nextVersion(db: Sql, campaignId: string): Promise<number> {
  const { rows } = await sql<{ version: number }>`
    select greatest(1, max(version)) + 1 as version from messaging.campaign_reports where campaign_id = ${campaignId}
  `.execute(db);
  return rows[0]?.version ?? 2;
}
