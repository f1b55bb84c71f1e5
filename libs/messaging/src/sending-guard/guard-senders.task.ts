import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { EnvironmentsQuery } from '#access';
import { DomainControlService } from '#deliverability';
import { Clock, InvalidStateError, NotFoundError, type ProjectScope } from '#kernel';
import { Database, LOGGER, MailMetrics, PeriodicTask, type Sql } from '#platform';
import { CAMPAIGN_MS, type SenderFigures, senderFaultOf } from './sending-limits.js';

const WINDOW_MS = 60 * 60_000;
const MINUTE_MS = 60_000;

/**
 * Stops domains whose mail is refused for its sender: it looks at the campaigns' mails of the last hour, or since it was
 * stopped last. The domain is suspended, as an operator would do it, and its running campaigns are paused.
 */
@Injectable()
export class GuardSenders extends PeriodicTask {
  override readonly name = 'guard-senders';
  override readonly everyMs = 5_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(EnvironmentsQuery) private readonly environments: EnvironmentsQuery,
    @Inject(DomainControlService) private readonly domains: DomainControlService,
    @Inject(MailMetrics) private readonly metrics: MailMetrics,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const now = this.clock.now();
    for (const environmentId of await this.database.system(({ db }) => refusedLately(db, now))) {
      const scope = await this.environments.find(environmentId);
      if (scope?.environment === 'LIVE') await this.#judge(scope, now);
    }
  }

  async #judge(scope: ProjectScope, now: Date): Promise<void> {
    const { environmentId } = scope;
    const fault = senderFaultOf(await this.database.system(({ db }) => figuresOf(db, environmentId, now)));
    if (fault === null) return;
    await this.#suspend(scope, fault);
    await this.database.system(({ db }) => stop(db, environmentId, fault, now));
    this.metrics.senderStopped();
    this.logger.error({ environmentId, fault }, 'a domain’s sending is stopped');
  }

  /** Mail may come from a domain that was never set up, where none is asked for; and an operator may have been faster. */
  async #suspend(scope: ProjectScope, fault: string): Promise<void> {
    try {
      await this.domains.suspend(scope, fault);
    } catch (error) {
      if (!(error instanceof NotFoundError || error instanceof InvalidStateError)) throw error;
    }
  }
}

async function refusedLately(db: Sql, now: Date): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select distinct environment_id as id from messaging.campaign_minutes
    where sender_refused + sender_bounced > 0 and minute > ${new Date(now.getTime() - WINDOW_MS)}
  `.execute(db);
  return rows.map(({ id }) => id);
}

async function figuresOf(db: Sql, environmentId: number, now: Date): Promise<SenderFigures> {
  // What was on its way when it was stopped may be counted in that minute still.
  const { rows } = await sql<SenderFigures>`
    select coalesce(sum(m.sent + m.hard_refused + m.sender_refused), 0)::bigint as mails,
      coalesce(sum(m.sender_refused + m.sender_bounced), 0)::bigint as "senderRefusals"
    from messaging.campaigns c join messaging.campaign_minutes m on m.campaign_id = c.id
    where c.environment_id = ${environmentId} and c.queued_at >= ${new Date(now.getTime() - CAMPAIGN_MS)}
      and m.minute > greatest(${new Date(now.getTime() - WINDOW_MS)}::timestamptz,
        (select s.stopped_at from messaging.sender_stops s where s.environment_id = ${environmentId}))
  `.execute(db);
  return rows[0] ?? { mails: 0, senderRefusals: 0 };
}

async function stop(db: Sql, environmentId: number, reason: string, now: Date): Promise<void> {
  await sql`
    insert into messaging.sender_stops as s (environment_id, stopped_at)
    values (${environmentId}, ${new Date(now.getTime() + MINUTE_MS)})
    on conflict (environment_id) do update set stopped_at = excluded.stopped_at
  `.execute(db);
  await sql`
    update messaging.campaigns set status = 'PAUSED', failure_reason = ${reason}, updated_at = ${now}
    where environment_id = ${environmentId} and status = 'SENDING'
  `.execute(db);
}
