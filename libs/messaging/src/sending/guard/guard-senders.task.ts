import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { environmentScopes } from '#access';
import { DomainControlService } from '#deliverability';
import { Clock, InvalidStateError, NotFoundError, type ProjectScope } from '#kernel';
import { Database, environmentOf, LOGGER, MailMetrics, PeriodicTask } from '#platform';
import { bounceClassesIn } from '../../engagement/address-consequences.service.js';
import { SCOPE } from '../../deliveries/scope.query.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { CAMPAIGN_MS, type SenderFigures, senderFaultOf } from './sending-limits.js';

const WINDOW_MS = 60 * 60_000;
const MINUTE_MS = 60_000;
const SENDERS = bounceClassesIn(({ stops }) => stops === 'domain');
const IS_SENDERS = sql`(reason in (${SENDERS}) or bounce_class in (${SENDERS}))`;
/** Refusals that say something of the address or the sender; after others the mail was not looked at. */
const JUDGED = bounceClassesIn(({ stops }) => stops === 'domain' || stops === 'project');

/**
 * Stops domains whose mail is refused for its sender: it looks at all live mails of the last hour, or since it was stopped
 * last. The domain is suspended, as an operator would do it, and its running campaigns are paused.
 */
@Injectable()
export class GuardSenders extends PeriodicTask {
  override readonly name = 'guard-senders';
  override readonly everyMs = 5_000;

  constructor(
    private readonly database: Database,
    private readonly domains: DomainControlService,
    private readonly metrics: MailMetrics,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const now = this.clock.now();
    const since = new Date(now.getTime() - WINDOW_MS);
    for (const scope of await this.database.system(() => this.#refusedLately(since)))
      await this.#judge(scope, await this.database.system(() => this.#figuresOf(scope, now, since)), now);
  }

  async #judge(scope: ProjectScope, figures: SenderFigures, now: Date): Promise<void> {
    const { environmentId } = scope;
    const fault = senderFaultOf(figures);
    if (fault === null) return;
    await this.#suspend(scope, fault);
    await this.database.system(() => this.#stop(environmentId, fault, now));
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
      select ${SCOPE} from (
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
    const environment = environmentOf(scope);
    const { rows } = await sql<SenderFigures>`
      select of_campaigns.mails + singles.mails as mails, of_campaigns.refusals + singles.refusals as sender_refusals
      from (
        select greatest(${since}::timestamptz, (
          select s.stopped_at from messaging.sender_stops s where s.environment_id = ${environment}
        )) as since
      ) judged
      cross join lateral (
        select coalesce(sum(m.sent + m.hard_refused + m.sender_refused), 0)::bigint as mails,
          coalesce(sum(m.sender_refused + m.sender_bounced), 0)::bigint as refusals
        from messaging.campaigns c
        join messaging.campaign_minutes m on m.campaign_id = c.id and m.environment_id = c.environment_id
        where c.environment_id = ${environment} and c.queued_at >= ${new Date(now.getTime() - CAMPAIGN_MS)}
          and m.minute > judged.since
      ) of_campaigns
      cross join lateral (
        -- confirmations, test mails and automations, which are too few to be counted while they are sent
        select count(*) as mails, count(*) filter (where ${IS_SENDERS}) as refusals
        from messaging.deliveries d
        where d.environment_id = ${environment} and kind <> 'CAMPAIGN' and single_ended_at > judged.since
          and (sent_at is not null or reason in (${JUDGED}))
      ) singles
    `.execute(this.database.tables());
    return rows[0]!;
  }

  async #stop(environmentId: number, reason: string, now: Date): Promise<void> {
    const tables = this.database.tables<MessagingTables>();
    // What was on its way then may be counted in that minute still.
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
