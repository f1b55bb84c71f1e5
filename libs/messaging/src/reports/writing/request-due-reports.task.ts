import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { EnvironmentsQuery } from '#access';
import { Clock, type ProjectScope } from '#kernel';
import { before, type Config, CONFIG, Database, drainEnvironments, PeriodicTask, publish } from '#platform';
import { CampaignReportRequested } from './campaign-report.events.js';

const MINUTE_MS = 60_000;
/** What was missed for longer is written when somebody asks. */
const MISSED_MS = 30 * 24 * 60 * MINUTE_MS;
const AT_ONCE = 200;

/** Has the first report of each campaign that was sent written when its time has come, archived or not. */
@Injectable()
export class RequestDueReports extends PeriodicTask {
  override readonly name = 'request-due-reports';
  override readonly everyMs = 10_000;

  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const now = this.clock.now();
    const latest = new Date(now.getTime() - this.config.AI_REPORT_DELAY_MINUTES * MINUTE_MS);
    const isDue = sql`
      c.status in ('SENT', 'ARCHIVED') and c.completed_at between ${before(latest, MISSED_MS)} and ${latest} and c.deleted_at is null
      and not exists (
        select 1 from messaging.campaign_reports r where r.campaign_id = c.id and r.environment_id = c.environment_id
      )
    `;
    const rows = sql`messaging.campaigns c where ${isDue}`;
    await drainEnvironments(this.database, { rows, batch: AT_ONCE }, async (environmentId, most) => {
      const scope = await this.environments.find(environmentId);
      if (scope === null) return 0;
      const due = sql`c.environment_id = ${environmentId} and ${isDue}`;
      return this.#request(scope, due, most, now);
    });
  }

  async #request(scope: ProjectScope, due: RawBuilder<unknown>, most: number, now: Date): Promise<number> {
    const { rows } = await sql<{ id: string }>`
      insert into messaging.campaign_reports (id, environment_id, campaign_id, version, status, locale, created_at, updated_at)
      select platform.new_id(), c.environment_id, c.id, 1, 'PENDING', ${this.config.AI_REPORT_LOCALE}, ${now}::timestamptz, ${now}::timestamptz
      from messaging.campaigns c where ${due} order by c.completed_at limit ${most}
      on conflict (campaign_id, version, environment_id) do nothing
      returning id
    `.execute(this.database.tables());
    for (const { id: reportId } of rows)
      await publish(this.database, scope, CampaignReportRequested({ reportId }));
    return rows.length;
  }
}
