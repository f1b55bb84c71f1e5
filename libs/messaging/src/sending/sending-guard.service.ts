import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { environmentScopes, scopeColumns } from '#access';
import { Clock, InvalidStateError, NotFoundError, type ProjectScope } from '#kernel';
import { before, Database, LOGGER, MailMetrics, Periodic } from '#platform';
import type { MessagingTables } from '../messaging-tables.js';
import { DomainControlService } from '#deliverability';
import { bounceClassesIn } from '../engagement/address-consequences.service.js';

/** Longer than any campaign is sent. */
const CAMPAIGN_MS = 30 * 24 * 60 * 60_000;

/** Results of a project's recent mail. */
interface SendingFigures {
  /** Sent, or refused by the next hop since the address does not exist. */
  readonly mails: number;
  readonly hardBounces: number;
  readonly complaints: number;
}

/**
 * Beyond these a sender is blocked by others. 0.3 % is what Gmail and Yahoo ask of bulk senders; 5 % hard bounces is
 * where mail services review an account. Fewer mails than 500 say too little.
 */
const SENDING_LIMITS = { leastMails: 500, hardBounces: 0.05, complaints: 0.003 } as const;

/** Results of a domain's mails of the last hour. */
interface SenderFigures {
  /** Sent, or refused by the next hop for their address or their sender. */
  readonly mails: number;
  /** Refused, at once or by a report, since the sender is not accepted or its SPF, DKIM or DMARC failed. */
  readonly senderRefusals: number;
}

/**
 * A broken domain is refused by every large provider, which each is a tenth of most lists and more. A few that refuse it
 * alone, or who make up reports on the mail they got, stop nobody.
 */
const SENDER_LIMITS = { leastRefusals: 3, refusals: 0.1 } as const;

/** The reason to stop the domain of these figures; null when it may go on. */
export function senderFaultOf({ mails, senderRefusals }: SenderFigures): string | null {
  if (senderRefusals < SENDER_LIMITS.leastRefusals) return null;
  if (senderRefusals <= mails * SENDER_LIMITS.refusals) return null;
  return `${senderRefusals} of the last ${mails} mails were refused for their sender or its SPF, DKIM or DMARC; more than 10 % stop a domain.`;
}

/** The reason to stop a project with these figures; null when it may go on. */
export function faultOf({ mails, hardBounces, complaints }: SendingFigures): string | null {
  if (mails < SENDING_LIMITS.leastMails) return null;
  if (hardBounces > mails * SENDING_LIMITS.hardBounces) {
    return `${hardBounces} of the last ${mails} mails went to addresses that do not exist; more than 5 % stop a project.`;
  }
  if (complaints > mails * SENDING_LIMITS.complaints) {
    return `${complaints} of the last ${mails} mails were called spam; more than 0.3 % stop a project.`;
  }
  return null;
}

type Stream = 'MARKETING' | 'TRANSACTIONAL';

/** The event of a message whose address does not exist. */
const isHardBounce = (event: string) =>
  sql`(${sql.ref(`${event}.type`)} = 'BOUNCED' and ${sql.ref(`${event}.reason`)} in (${bounceClassesIn(({ stops }) => stops === 'project')}))`;

const PROJECT_WINDOW_MS = 24 * 60 * 60_000;

interface EnvironmentFigures extends SendingFigures {
  readonly environmentId: number;
}

const DOMAIN_WINDOW_MS = 60 * 60_000;
const MINUTE_MS = 60_000;
const SENDERS = bounceClassesIn(({ stops }) => stops === 'domain');
const IS_SENDERS = sql`(reason in (${SENDERS}) or bounce_class in (${SENDERS}))`;
/** Refusals that say something of the address or the sender; after others the mail was not looked at. */
const JUDGED = bounceClassesIn(({ stops }) => stops === 'domain' || stops === 'project');

/** Stops projects and domains whose mail is refused, bounces or is reported as spam too often. */
@Injectable()
export class SendingGuardService {
  constructor(
    private readonly database: Database,
    private readonly domains: DomainControlService,
    private readonly metrics: MailMetrics,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Stops projects whose mail bounces or is reported as spam too often: judges those that are sending live by the last 24 hours,
   * or by the time since they were resumed. Their running campaigns are paused.
   */
  @Periodic('guard-sending', { everyMs: 5_000 })
  async stopProjects(): Promise<void> {
    const now = this.clock.now();
    for (const figures of await this.database.system(() => this.#sendingNow(now)))
      await this.#judgeProject('MARKETING', figures, now);
    await this.database.system(() => this.#pauseStopped(now));
  }

  /** Stops the messages of projects in the same way, judged apart: no more are accepted. */
  @Periodic('guard-messages', { everyMs: 15_000 })
  async stopMessages(): Promise<void> {
    const now = this.clock.now();
    const since = before(now, PROJECT_WINDOW_MS);
    for (const figures of await this.database.system(() => this.#messagesAgainst(since)))
      await this.#judgeProject('TRANSACTIONAL', figures, now);
  }

  async #judgeProject(
    stream: Stream,
    { environmentId, ...figures }: EnvironmentFigures,
    now: Date,
  ): Promise<void> {
    const fault = faultOf(figures);
    if (fault === null) return;
    if (await this.database.system(() => this.#stopProject(environmentId, stream, fault, now)))
      this.logger.error({ environmentId, stream, fault }, 'a project’s sending is stopped');
  }

  /** Figures of projects with as many bounces or complaints as could stop their messages: only for these are mails counted. */
  async #messagesAgainst(since: Date): Promise<EnvironmentFigures[]> {
    const { leastMails, hardBounces, complaints } = SENDING_LIMITS;
    const { rows } = await sql<EnvironmentFigures>`
      select a.environment_id, a.hard_bounces, a.complaints, (
          select count(*) from messaging.message_events m
          where m.environment_id = a.environment_id and m.type = 'SENT' and m.occurred_at > a.since
        ) + (
          select count(*) from messaging.message_events m
          where m.environment_id = a.environment_id and ${isHardBounce('m')} and m.occurred_at > a.since and not exists (
            select 1 from messaging.message_events s
            where s.environment_id = m.environment_id and s.message_id = m.message_id and s.type = 'SENT'
          )
        ) as mails
      from (
        select e.environment_id, min(j.since) as since, count(*) filter (where ${isHardBounce('e')}) as hard_bounces,
          count(*) filter (where e.type = 'COMPLAINED') as complaints
        from (
          select x.environment_id, greatest(${since}::timestamptz, t.resumed_at) as since
          from ${environmentScopes} x
          left join messaging.sending_stops t on t.environment_id = x.environment_id and t.stream = 'TRANSACTIONAL'
          where x.environment = 'LIVE' and (t.environment_id is null or t.resumed_at is not null)
        ) j
        join messaging.message_events e on e.environment_id = j.environment_id and e.occurred_at > j.since
        where e.type in ('BOUNCED', 'COMPLAINED')
        group by e.environment_id
      ) a
      where a.hard_bounces > ${Math.floor(leastMails * hardBounces)} or a.complaints > ${Math.floor(leastMails * complaints)}
    `.execute(this.database.tables());
    return rows;
  }

  /** One statement for all: most that are sending may be waiting. */
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
          and m.minute >= greatest(${new Date(now.getTime() - PROJECT_WINDOW_MS)}::timestamptz,
            (select t.resumed_at from messaging.sending_stops t where t.environment_id = s.environment_id and t.stream = 'MARKETING'))
        group by c.environment_id
      ) f join ${environmentScopes} e on e.environment_id = s.environment_id
      where f.mails > 0 and e.environment = 'LIVE'
    `.execute(this.database.tables());
    return rows;
  }

  /** False when it is stopped already. */
  async #stopProject(environmentId: number, stream: Stream, reason: string, now: Date): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await this.database
      .tables<MessagingTables>()
      .insertInto('messaging.sending_stops')
      .values({ environmentId, stream, reason, stoppedAt: now })
      .onConflict((conflict) =>
        conflict
          .columns(['environmentId', 'stream'])
          .doUpdateSet({ reason, stoppedAt: now, resumedAt: null })
          .where('messaging.sending_stops.resumedAt', 'is not', null),
      )
      .executeTakeFirstOrThrow();
    return numInsertedOrUpdatedRows === 1n;
  }

  /** Pauses campaigns of stopped projects, also those resumed or sent again since. */
  async #pauseStopped(now: Date): Promise<void> {
    await this.database
      .tables<MessagingTables>()
      .updateTable('messaging.campaigns as c')
      .from('messaging.sending_stops as s')
      .set((eb) => ({ status: 'PAUSED', failureReason: eb.ref('s.reason'), updatedAt: now }))
      .whereRef('s.environmentId', '=', 'c.environmentId')
      .where('s.stream', '=', 'MARKETING')
      .where('s.resumedAt', 'is', null)
      .where('c.status', '=', sql.lit('SENDING'))
      .execute();
  }

  /**
   * Stops domains whose mail is refused for its sender: judges all live mails of the last hour, or since the last stop. Suspends
   * the domain, as an operator would do it, and pauses its running campaigns.
   */
  @Periodic('guard-senders', { everyMs: 5_000 })
  async stopDomains(): Promise<void> {
    const now = this.clock.now();
    const since = new Date(now.getTime() - DOMAIN_WINDOW_MS);
    for (const scope of await this.database.system(() => this.#refusedLately(since)))
      await this.#judgeDomain(
        scope,
        await this.database.system(() => this.#figuresOf(scope, now, since)),
        now,
      );
  }

  async #judgeDomain(scope: ProjectScope, figures: SenderFigures, now: Date): Promise<void> {
    const { environmentId } = scope;
    const fault = senderFaultOf(figures);
    if (fault === null) return;
    await this.#suspend(scope, fault);
    await this.database.system(() => this.#stopDomain(environmentId, fault, now));
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

  /** The live environments of which mail was refused for its sender within the hour. */
  async #refusedLately(since: Date): Promise<ProjectScope[]> {
    const { rows } = await sql<ProjectScope>`
      select ${scopeColumns} from (
        select environment_id from messaging.campaign_minutes
        where sender_refused + sender_bounced > 0 and minute > ${since}
        union
        select environment_id from messaging.deliveries
        where kind <> 'CAMPAIGN' and ${IS_SENDERS} and single_ended_at > ${since}
      ) r join ${environmentScopes} e on e.environment_id = r.environment_id
      where e.environment = 'LIVE'
    `.execute(this.database.tables());
    return rows;
  }

  async #figuresOf(scope: ProjectScope, now: Date, since: Date): Promise<SenderFigures> {
    const { environmentId } = scope;
    const { rows } = await sql<SenderFigures>`
      select of_campaigns.mails + singles.mails as mails, of_campaigns.refusals + singles.refusals as sender_refusals
      from (
        select greatest(${since}::timestamptz, (
          select s.stopped_at from messaging.sender_stops s where s.environment_id = ${environmentId}
        )) as since
      ) judged
      cross join lateral (
        select coalesce(sum(m.sent + m.hard_refused + m.sender_refused), 0)::bigint as mails,
          coalesce(sum(m.sender_refused + m.sender_bounced), 0)::bigint as refusals
        from messaging.campaigns c
        join messaging.campaign_minutes m on m.campaign_id = c.id and m.environment_id = c.environment_id
        where c.environment_id = ${environmentId} and c.queued_at >= ${new Date(now.getTime() - CAMPAIGN_MS)}
          and m.minute > judged.since
      ) of_campaigns
      cross join lateral (
        -- confirmations, test mails and automations, which are too few to be counted while they are sent
        select count(*) as mails, count(*) filter (where ${IS_SENDERS}) as refusals
        from messaging.deliveries d
        where d.environment_id = ${environmentId} and kind <> 'CAMPAIGN' and single_ended_at > judged.since
          and (sent_at is not null or reason in (${JUDGED}))
      ) singles
    `.execute(this.database.tables());
    return rows[0]!;
  }

  async #stopDomain(environmentId: number, reason: string, now: Date): Promise<void> {
    const tables = this.database.tables<MessagingTables>();
    // Mail on its way then may be counted in that minute still.
    const stoppedAt = new Date(now.getTime() + MINUTE_MS);
    await tables
      .insertInto('messaging.sender_stops')
      .values({ environmentId, stoppedAt })
      .onConflict((conflict) => conflict.column('environmentId').doUpdateSet({ stoppedAt }))
      .execute();
    await tables
      .updateTable('messaging.campaigns')
      .set({ status: 'PAUSED', failureReason: reason, updatedAt: now })
      .where('environmentId', '=', environmentId)
      .where('status', '=', 'SENDING')
      .execute();
  }
}
