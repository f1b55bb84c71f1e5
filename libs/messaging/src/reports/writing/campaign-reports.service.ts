import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  Clock,
  DomainValidationError,
  InvalidStateError,
  newId,
  NotFoundError,
  type ProjectScope,
} from '#kernel';
import {
  before,
  CONFIG,
  type Config,
  Database,
  drainEnvironments,
  enqueue,
  LinkTokens,
  Periodic,
} from '#platform';
import { EnvironmentsQuery } from '#access';
import { campaignNamed } from '../../campaigns/campaign.repository.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { CampaignReport, writeCampaignReport } from './campaign-report.schema.js';

const DAY_MS = 86_400_000;

/** Days for which a link to a report is valid. */
export const REPORT_LINK_DAYS = { default: 30, most: 366 };

/** Address of the page that shows a campaign's report: it is open to all who have it, until it expires. */
export interface ReportLink {
  readonly url: string;
  readonly expiresAt: Date;
}

const MINUTE_MS = 60_000;
/** Reports that were missed for longer are written when somebody asks. */
const MISSED_MS = 30 * 24 * 60 * MINUTE_MS;
const AT_ONCE = 200;

/** Reads and requests the reports on campaigns in words. */
@Injectable()
export class CampaignReportsService {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
    private readonly clock: Clock,
    private readonly tokens: LinkTokens,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** The latest version. Throws `NotFoundError` without such a campaign, and before it was sent. */
  latest(scope: ProjectScope, campaignKey: string): Promise<CampaignReport> {
    return this.database.transaction(scope, async () => {
      const { id: campaignId, completedAt } = await campaignNamed(this.database.tables(), scope, campaignKey)
        .select(['id', 'completedAt'])
        .executeTakeFirstOrThrow(() => new NotFoundError());
      const { environmentId } = scope;
      const which = { environmentId, campaignId };
      const latest = await this.database.em.findOne(CampaignReport, which, { orderBy: { version: 'desc' } });
      if (latest !== null) return latest;
      if (completedAt === null) throw new NotFoundError();
      // The first version, which is made by itself, is not written down before its time.
      return this.#version(scope, campaignId, 1, completedAt);
    });
  }

  /**
   * Requests a new version. One that waits yet is not written any more. Throws `NotFoundError`, or
   * `InvalidStateError` before the campaign was sent, and when it is archived.
   */
  request(scope: ProjectScope, campaignKey: string): Promise<CampaignReport> {
    return this.database.transaction(scope, async () => {
      const { id, status } = await campaignNamed(this.database.tables(), scope, campaignKey)
        .select(['id', 'status'])
        .forUpdate()
        .executeTakeFirstOrThrow(() => new NotFoundError());
      if (status !== 'SENT') {
        const message = `A report on the campaign cannot be written while it is ${status}.`;
        throw new InvalidStateError(message, status, ['SENT']);
      }
      const report = this.#version(scope, id, await this.#nextVersion(scope, id), this.clock.now());
      await this.database
        .tables<MessagingTables>()
        .deleteFrom('messaging.campaign_reports')
        .where('environmentId', '=', scope.environmentId)
        .where('campaignId', '=', id)
        .where('status', '=', 'PENDING')
        .execute();
      this.database.em.persist(report);
      await enqueue(this.database, scope, writeCampaignReport({ reportId: report.id }));
      return report;
    });
  }

  /** A link that is good for `days`. Throws `NotFoundError`, or `InvalidStateError` before the campaign was sent. */
  async link(scope: ProjectScope, campaignKey: string, days = REPORT_LINK_DAYS.default): Promise<ReportLink> {
    if (!Number.isInteger(days) || days < 1 || days > REPORT_LINK_DAYS.most)
      throw new DomainValidationError({ days: `must be an integer from 1 to ${REPORT_LINK_DAYS.most}` });
    const { id, status, queuedAt } = await this.database.transaction(scope, () =>
      campaignNamed(this.database.tables(), scope, campaignKey)
        .select(['id', 'status', 'queuedAt'])
        .executeTakeFirstOrThrow(() => new NotFoundError()),
    );
    if (queuedAt === null)
      throw new InvalidStateError(`The campaign has no report while it is ${status}.`, status, ['SENT']);
    const expiresAt = new Date(this.clock.now().getTime() + days * DAY_MS);
    const token = this.tokens.sign({ kind: 'report', environmentId: scope.environmentId, id, expiresAt });
    return { url: `${this.config.PUBLIC_URL}/r/${token}`, expiresAt };
  }

  /** Version 1 is the one that is made by itself, so the first that is asked for is 2. */
  async #nextVersion({ environmentId }: ProjectScope, campaignId: string): Promise<number> {
    const row = await this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.campaign_reports')
      .select('version')
      .where('environmentId', '=', environmentId)
      .where('campaignId', '=', campaignId)
      .orderBy('version', 'desc')
      .limit(1)
      .executeTakeFirst();
    return (row?.version ?? 1) + 1;
  }

  #version({ environmentId }: ProjectScope, campaignId: string, version: number, now: Date): CampaignReport {
    const locale = this.config.AI_REPORT_LOCALE;
    return new CampaignReport({ id: newId(), environmentId, campaignId, version, locale }, now);
  }

  /** Requests the first report of each campaign that was sent, archived or not, when its time has come. */
  @Periodic('request-due-reports', { everyMs: 10_000 })
  async requestDue(): Promise<void> {
    const now = this.clock.now();
    const latest = new Date(now.getTime() - this.config.AI_REPORT_DELAY_MINUTES * MINUTE_MS);
    const isDue = sql`
      c.status in ('SENT', 'ARCHIVED') and c.completed_at between ${before(latest, MISSED_MS)} and ${latest}
      and c.deleted_at is null and not exists (
        select 1 from messaging.campaign_reports r where r.campaign_id = c.id and r.environment_id = c.environment_id
      )
    `;
    const rows = sql`messaging.campaigns c where ${isDue}`;
    await drainEnvironments(this.database, { rows, batch: AT_ONCE }, async (environmentId, most) => {
      const scope = await this.environments.find(environmentId);
      if (scope === null) return 0;
      const due = sql`c.environment_id = ${environmentId} and ${isDue}`;
      return this.#requestFirst(scope, due, most, now);
    });
  }

  async #requestFirst(
    scope: ProjectScope,
    due: RawBuilder<unknown>,
    most: number,
    now: Date,
  ): Promise<number> {
    const { rows } = await sql<{ id: string }>`
      insert into messaging.campaign_reports
        (id, environment_id, campaign_id, version, status, locale, created_at, updated_at)
      select platform.new_id(), c.environment_id, c.id, 1, 'PENDING', ${this.config.AI_REPORT_LOCALE},
        ${now}::timestamptz, ${now}::timestamptz
      from messaging.campaigns c where ${due} order by c.completed_at limit ${most}
      on conflict (campaign_id, version, environment_id) do nothing
      returning id
    `.execute(this.database.tables());
    for (const { id: reportId } of rows)
      await enqueue(this.database, scope, writeCampaignReport({ reportId }));
    return rows.length;
  }
}
