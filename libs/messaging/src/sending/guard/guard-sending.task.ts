import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { Clock } from '#kernel';
import { Database, LOGGER, PeriodicTask, type Sql } from '#platform';
import { CAMPAIGN_MS, faultOf, type SendingFigures } from './sending-limits.js';

const WINDOW_MS = 24 * 60 * 60_000;

/**
 * Stops projects whose mail comes back or is called spam too often: it looks at those that are sending live, at the
 * last 24 hours or, when it was stopped before, at the time since it was resumed. Their running campaigns are paused.
 */
@Injectable()
export class GuardSending extends PeriodicTask {
  override readonly name = 'guard-sending';
  override readonly everyMs = 5_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const now = this.clock.now();
    const sending = await this.database.system(({ db }) => sendingNow(db, now));
    for (const figures of sending) await this.#judge(figures, now);
    await this.database.system(({ db }) => pauseStopped(db, now));
  }

  async #judge({ environmentId, ...figures }: EnvironmentFigures, now: Date): Promise<void> {
    const fault = faultOf(figures);
    if (fault === null) return;
    if (await this.database.system(({ db }) => stop(db, environmentId, fault, now)))
      this.logger.error({ environmentId, fault }, 'a project’s sending is stopped');
  }
}

interface EnvironmentFigures extends SendingFigures {
  readonly environmentId: number;
}

/** Of all in one statement: most that are sending may be waiting. */
async function sendingNow(db: Sql, now: Date): Promise<EnvironmentFigures[]> {
  const { rows } = await sql<EnvironmentFigures>`
    select s.environment_id as "environmentId", f.* from (
      select distinct c.environment_id from messaging.campaigns c where c.status = 'SENDING' offset 0
    ) s cross join lateral (
      select coalesce(sum(m.sent + m.hard_refused), 0)::bigint as mails,
        coalesce(sum(m.hard_bounced + m.hard_refused), 0)::bigint as "hardBounces",
        coalesce(sum(m.complained), 0)::bigint as complaints
      from messaging.campaigns c join messaging.campaign_minutes m on m.campaign_id = c.id
      where c.environment_id = s.environment_id and c.queued_at >= ${new Date(now.getTime() - CAMPAIGN_MS)}
        and m.minute >= greatest(${new Date(now.getTime() - WINDOW_MS)}::timestamptz,
          (select t.resumed_at from messaging.sending_stops t where t.environment_id = s.environment_id))
    ) f cross join lateral access.find_environment(s.environment_id) e
    where f.mails > 0 and e.environment = 'LIVE'
  `.execute(db);
  return rows;
}

/** False when it is stopped already. */
async function stop(db: Sql, environmentId: number, reason: string, now: Date): Promise<boolean> {
  const { numAffectedRows } = await sql`
    insert into messaging.sending_stops as s (environment_id, reason, stopped_at)
    values (${environmentId}, ${reason}, ${now})
    on conflict (environment_id) do update set reason = excluded.reason, stopped_at = excluded.stopped_at, resumed_at = null
    where s.resumed_at is not null
  `.execute(db);
  return numAffectedRows === 1n;
}

/** Also what was resumed or sent again before it was noticed. */
async function pauseStopped(db: Sql, now: Date): Promise<void> {
  await sql`
    update messaging.campaigns c set status = 'PAUSED', failure_reason = s.reason, updated_at = ${now}
    from messaging.sending_stops s
    where s.environment_id = c.environment_id and s.resumed_at is null and c.status = 'SENDING'
  `.execute(db);
}
