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
const NONE: SenderFigures = { mails: 0, senderRefusals: 0 };

/**
 * Stops domains whose mail is refused for its sender: it looks at all live mails of the last hour, or since it was stopped
 * last. The domain is suspended, as an operator would do it, and its running campaigns are paused.
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
  const since = new Date(now.getTime() - WINDOW_MS);
  const { rows } = await sql<{ id: number }>`
    select environment_id as id from messaging.campaign_minutes
    where sender_refused + sender_bounced > 0 and minute > ${since}
    union
    select environment_id from messaging.deliveries
    where kind <> 'CAMPAIGN' and (reason = 'sender' or bounce_class = 'sender') and finished_at > ${since}
  `.execute(db);
  return rows.map(({ id }) => id);
}

async function figuresOf(db: Sql, environmentId: number, now: Date): Promise<SenderFigures> {
  const since = await judgedSince(db, environmentId, now);
  const [campaigns, singles] = [
    await ofCampaigns(db, environmentId, since, now),
    await ofSingles(db, environmentId, since),
  ];
  return {
    mails: campaigns.mails + singles.mails,
    senderRefusals: campaigns.senderRefusals + singles.senderRefusals,
  };
}

async function judgedSince(db: Sql, environmentId: number, now: Date): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`
    select greatest(${new Date(now.getTime() - WINDOW_MS)}::timestamptz,
      (select stopped_at from messaging.sender_stops where environment_id = ${environmentId})) as at
  `.execute(db);
  return rows[0]?.at ?? now;
}

async function ofCampaigns(db: Sql, environmentId: number, since: Date, now: Date): Promise<SenderFigures> {
  const { rows } = await sql<SenderFigures>`
    select coalesce(sum(m.sent + m.hard_refused + m.sender_refused), 0)::bigint as mails,
      coalesce(sum(m.sender_refused + m.sender_bounced), 0)::bigint as "senderRefusals"
    from messaging.campaigns c join messaging.campaign_minutes m on m.campaign_id = c.id
    where c.environment_id = ${environmentId} and c.queued_at >= ${new Date(now.getTime() - CAMPAIGN_MS)}
      and m.minute > ${since}
  `.execute(db);
  return rows[0] ?? NONE;
}

/** Of confirmations, test mails and automations, which are too few to be counted while they are sent. */
async function ofSingles(db: Sql, environmentId: number, since: Date): Promise<SenderFigures> {
  const { rows } = await sql<SenderFigures>`
    select count(*) as mails, count(*) filter (where reason = 'sender' or bounce_class = 'sender') as "senderRefusals"
    from messaging.deliveries
    where environment_id = ${environmentId} and kind <> 'CAMPAIGN' and finished_at > ${since}
      and (sent_at is not null or reason in ('hard', 'sender'))
  `.execute(db);
  return rows[0] ?? NONE;
}

async function stop(db: Sql, environmentId: number, reason: string, now: Date): Promise<void> {
  // What was on its way then may be counted in that minute still.
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
