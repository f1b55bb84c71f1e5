import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, drain, PeriodicTask, publish } from '#platform';
import { CampaignReportRequested } from './campaign-report.events.js';

interface NewReport extends ProjectScope {
  readonly reportId: string;
}

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
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    super();
  }

  override async run(): Promise<void> {
    await drain(AT_ONCE, () => this.database.system(() => this.#request()));
  }

  async #request(): Promise<number> {
    const now = this.clock.now();
    const latest = new Date(now.getTime() - this.config.AI_REPORT_DELAY_MINUTES * MINUTE_MS);
    const earliest = new Date(latest.getTime() - MISSED_MS);
    const { rows } = await sql<NewReport>`
      with due as (
        select c.id, c.environment_id from messaging.campaigns c
        where c.status in ('SENT', 'ARCHIVED') and c.completed_at between ${earliest} and ${latest} and c.deleted_at is null
          and not exists (select 1 from messaging.campaign_reports r where r.campaign_id = c.id)
        order by c.completed_at limit ${AT_ONCE}
      ), made as (
        insert into messaging.campaign_reports (id, environment_id, campaign_id, version, status, locale, created_at, updated_at)
        select platform.new_id(), environment_id, id, 1, 'PENDING', ${this.config.AI_REPORT_LOCALE}, ${now}::timestamptz, ${now}::timestamptz
        from due
        on conflict (campaign_id, version, environment_id) do nothing
        returning id, environment_id
      )
      select m.id as report_id, e.*
      from made m cross join lateral access.find_environment(m.environment_id) e
    `.execute(this.database.tables());
    for (const { reportId, ...scope } of rows)
      await publish(this.database, scope, CampaignReportRequested({ reportId }));
    return rows.length;
  }
}
