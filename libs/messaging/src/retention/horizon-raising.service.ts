import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { Logger } from 'pino';
import { Database, keptFrom, LOGGER } from '#platform';
import { PARTITION } from '../deliveries/partition.query.js';
import { environmentsOf, type Horizon, within } from './horizon.query.js';
import { Settlement } from './settlement.service.js';

/** The day of the oldest that is not finished, of those before `day`. */
const UNFINISHED: Readonly<Record<'mails' | 'runs', (horizon: Horizon) => RawBuilder<unknown>>> = {
  mails: ({ day, environmentId }) => sql`
    select min(d.queued_on) as day from messaging.deliveries d
    where d.single_ended_at is null and d.kind in ('OPT_IN', 'TEST') and d.queued_on < ${day}::date and ${within(environmentId, 'd.environment_id')}
    union all
    select min(d.queued_on) from messaging.deliveries d
    where d.single_ended_at is null and d.kind = 'AUTOMATION' and d.queued_on < ${day}::date and ${within(environmentId, 'd.environment_id')}
    union all
    select min(${PARTITION}) from messaging.campaigns c
    where ${PARTITION} < ${day}::date and ${within(environmentId, 'c.environment_id')} and (
      c.status in ('SCHEDULED', 'QUEUED_FOR_SENDING', 'SENDING', 'PAUSED') or c.closing_since is not null
      or c.retry_from is not null or exists (
        select 1 from messaging.exports e
        where e.campaign_id = c.id and e.environment_id = c.environment_id and e.kind = 'DELIVERIES' and e.state = 'PENDING'
      ))`,
  runs: ({ day }) => sql`
    select min((r.entered_at at time zone 'UTC')::date) as day from messaging.automation_runs r
    where r.wake_at is not null and r.entered_at < ${day}::timestamptz`,
};

/** Moves the days forward before which rows are let go. */
@Injectable()
export class HorizonRaising {
  constructor(
    private readonly database: Database,
    private readonly settlement: Settlement,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * To the wanted day, or that of what is older and not finished. What is counted from the rows is counted for the last
   * time before.
   */
  async raise(wanted: Horizon): Promise<void> {
    const from = await this.#present(wanted);
    if (wanted.day <= from) return;
    const reached = { ...wanted, day: await this.#reachable(wanted) };
    if (reached.day < wanted.day) this.logger.info(reached, 'older rows belong to what is not finished');
    if (reached.day <= from) return;
    await this.settlement.settle(reached, from);
    await this.database.system(() => this.#set(reached, from));
  }

  async #present({ kind, environmentId }: Horizon): Promise<string> {
    const [row] = await this.database.statement<{ day: string }>(
      'system',
      sql`select ${keptFrom(kind, sql`${environmentId}::bigint`)} as day`,
    );
    return row?.day ?? '-infinity';
  }

  #reachable(horizon: Horizon): Promise<string> {
    const { kind, day, environmentId } = horizon;
    return this.database.system(async () => {
      const unfinished = UNFINISHED[kind === 'STEPS' ? 'runs' : 'mails'](horizon);
      const unit = environmentId === null ? 'month' : 'day';
      const { rows } = await sql<{ day: string }>`
        select least(${day}::date, date_trunc(${unit}, min(u.day))::date) as day from (${unfinished}) u
      `.execute(this.database.tables());
      return rows[0]?.day ?? day;
    });
  }

  /** Nothing, when a campaign was taken up again since: such a one is locked by who does. */
  async #set(horizon: Horizon, from: string): Promise<void> {
    const { kind, day, environmentId } = horizon;
    const tables = this.database.tables();
    if (kind !== 'STEPS') {
      const ended = sql`messaging.campaigns c
        where c.status in ('SENT', 'FAILED') and ${PARTITION} >= ${from}::date and ${PARTITION} < ${day}::date`;
      for (const id of await environmentsOf(this.database, ended, 'c', environmentId))
        await sql`select 1 from ${ended} and c.environment_id = ${id} order by c.id for update`.execute(
          tables,
        );
      if ((await this.#reachable(horizon)) < day) return;
    }
    await sql`
      insert into platform.retention_horizons as h (kind, environment_id, kept_from) values (${kind}, ${environmentId}, ${day}::date)
      on conflict (kind, environment_id) do update set kept_from = greatest(h.kept_from, excluded.kept_from)
    `.execute(tables);
  }
}
