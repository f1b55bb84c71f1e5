import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { environmentScopes } from '#access';
import { Clock } from '#kernel';
import { Database, LOGGER, PeriodicTask } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { CAMPAIGN_MS, faultOf, type SendingFigures } from './sending-limits.js';

const WINDOW_MS = 24 * 60 * 60_000;

interface EnvironmentFigures extends SendingFigures {
  readonly environmentId: number;
}

/**
 * Stops projects whose mail comes back or is called spam too often: it looks at those that are sending live, at the
 * last 24 hours or, when it was stopped before, at the time since it was resumed. Their running campaigns are paused.
 */
@Injectable()
export class GuardSending extends PeriodicTask {
  override readonly name = 'guard-sending';
  override readonly everyMs = 5_000;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const now = this.clock.now();
    for (const figures of await this.database.system(() => this.#sendingNow(now)))
      await this.#judge(figures, now);
    await this.database.system(() => this.#pauseStopped(now));
  }

  async #judge({ environmentId, ...figures }: EnvironmentFigures, now: Date): Promise<void> {
    const fault = faultOf(figures);
    if (fault !== null && (await this.database.system(() => this.#stop(environmentId, fault, now))))
      this.logger.error({ environmentId, fault }, 'a project’s sending is stopped');
  }

  /** Of all in one statement: most that are sending may be waiting. */
  async #sendingNow(now: Date): Promise<EnvironmentFigures[]> {
    const { rows } = await sql<EnvironmentFigures>`
      select s.environment_id, f.* from (
        select distinct c.environment_id from messaging.campaigns c where c.status = 'SENDING'
      ) s cross join lateral (
        select sum(m.sent + m.hard_refused)::bigint as mails, sum(m.hard_bounced + m.hard_refused)::bigint as hard_bounces,
          sum(m.complained)::bigint as complaints
        from messaging.campaigns c
        join messaging.campaign_minutes m on m.campaign_id = c.id and m.environment_id = c.environment_id
        where c.environment_id = s.environment_id and c.queued_at >= ${new Date(now.getTime() - CAMPAIGN_MS)}
          and m.minute >= greatest(${new Date(now.getTime() - WINDOW_MS)}::timestamptz,
            (select t.resumed_at from messaging.sending_stops t where t.environment_id = s.environment_id))
        group by c.environment_id
      ) f join ${environmentScopes} e on e.environment_id = s.environment_id
      where f.mails > 0 and e.environment = 'LIVE'
    `.execute(this.database.tables());
    return rows;
  }

  /** False when it is stopped already. */
  async #stop(environmentId: number, reason: string, now: Date): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await this.database
      .tables<MessagingTables>()
      .insertInto('messaging.sending_stops')
      .values({ environmentId, reason, stoppedAt: now })
      .onConflict((conflict) =>
        conflict
          .column('environmentId')
          .doUpdateSet({ reason, stoppedAt: now, resumedAt: null })
          .where('messaging.sending_stops.resumedAt', 'is not', null),
      )
      .executeTakeFirstOrThrow();
    return numInsertedOrUpdatedRows === 1n;
  }

  /** Also what was resumed or sent again before it was noticed. */
  async #pauseStopped(now: Date): Promise<void> {
    await this.database
      .tables<MessagingTables>()
      .updateTable('messaging.campaigns as c')
      .from('messaging.sending_stops as s')
      .set((eb) => ({ status: 'PAUSED', failureReason: eb.ref('s.reason'), updatedAt: now }))
      .whereRef('s.environmentId', '=', 'c.environmentId')
      .where('s.resumedAt', 'is', null)
      .where('c.status', '=', 'SENDING')
      .execute();
  }
}
