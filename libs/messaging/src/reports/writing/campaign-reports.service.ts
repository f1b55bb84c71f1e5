import { Inject, Injectable } from '@nestjs/common';
import { Clock, InvalidStateError, newId, NotFoundError, type ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, publish } from '#platform';
import { campaignNamed } from '../../campaigns/campaign.repository.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { CampaignReportRequested } from './campaign-report.events.js';
import { CampaignReport } from './campaign-report.js';

/** The reports on campaigns in words, as their readers ask for them. */
@Injectable()
export class CampaignReportsService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
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
   * Has a new version written, now. One that waits yet is not written any more. Throws `NotFoundError`, or
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
      await publish(this.database, scope, CampaignReportRequested({ reportId: report.id }));
      return report;
    });
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
}
