import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { EmailQuotaService } from '#billing';
import { Clock, type ProjectScope } from '#kernel';
import {
  Database,
  done,
  type JobContext,
  type JobResult,
  present,
  ResumableJob,
  snooze,
  unleased,
} from '#platform';
import type { CampaignStatus } from '../../campaigns/campaign.js';
import {
  CampaignLifecycleService,
  closeCampaign,
  type PublishedCampaign,
} from '../../campaigns/campaign-lifecycle.service.js';
import type { MessagingTables } from '../../messaging-tables.js';
import {
  firstOpenOf,
  isOpenAnywhere,
  isOpenOf,
  walkFromFront,
} from '../../deliveries/campaign-front.query.js';
import { type CampaignUnderWay, epochOf, isInDoubt } from './delivery-claims.query.js';

const CHUNK = 5_000;
const CLOSE_AGAIN_MS = 1_000;

interface ClosingCampaign {
  readonly id: string;
  readonly status: CampaignStatus;
}

/** A place in the order of `deliveries_in_order`. */
interface Place {
  /** To the microsecond, as PostgreSQL writes it. */
  readonly at: string;
  readonly id: string;
}

interface ClosedChunk {
  readonly cancelled: number;
  readonly unknown: number;
  /** The place of the last one; null: none was left. */
  readonly last: Place | null;
}

/** True for a campaign `c`, found by its id, whose recipients are all queued and none of whose deliveries is open. */
const isOver = sql`
  (c.status = 'SENDING') is true and c.expanded_at is not null and c.retry_from is null and ${firstOpenOf} is null
`;

const FIRST: Place = { at: '-infinity', id: '00000000-0000-0000-0000-000000000000' };

/** Ends campaigns: those that everybody has got, and the open deliveries of those that were cancelled or failed. */
@Injectable()
export class CampaignClosingService {
  constructor(
    private readonly database: Database,
    private readonly quota: EmailQuotaService,
    private readonly lifecycle: CampaignLifecycleService,
    private readonly clock: Clock,
  ) {}

  /** SENT, when all recipients are queued and no delivery is open: never by a counter. */
  finish({ scope, id }: Pick<CampaignUnderWay, 'scope' | 'id'>): Promise<void> {
    return this.database.transaction(scope, async () => {
      const isDone = sql`c.id = ${id} and c.environment_id = ${scope.environmentId} and ${isOver}`;
      const over = await sql`select 1 from messaging.campaigns c where ${isDone}`.execute(
        this.database.tables(),
      );
      if (over.rows.length === 0 || (await this.#hasLeftAny(isDone))) return;
      // The time of its end is read after its last mail was seen to have ended, so that it never comes before it.
      const { rows } = await sql<PublishedCampaign>`
        update messaging.campaigns c set status = 'SENT', completed_at = ${present}, updated_at = ${present},
          front_at = 'infinity'
        where ${isDone}
        returning c.id, c.campaign_key, c.name, c.subject, c.variants, c.template_content_id, c.status, c.metadata, c.estimated_recipient_count, c.scheduled_at,
          c.scheduled_at_local, c.completed_at
      `.execute(this.database.tables());
      for (const sent of rows) await this.lifecycle.publish(scope, 'campaign.sent', sent);
    });
  }

  /**
   * Looks at all deliveries, once a campaign: what a wrong front had left behind would never be sent. Then the search for open
   * ones starts again from the beginning.
   */
  async #hasLeftAny(isDone: RawBuilder<unknown>): Promise<boolean> {
    const { numAffectedRows = 0n } = await sql`
      update messaging.campaigns c set front_at = '-infinity' where ${isDone} and ${isOpenAnywhere}
    `.execute(this.database.tables());
    return numAffectedRows > 0n;
  }

  /**
   * Ends the open deliveries of a campaign that was cancelled or failed, a chunk a transaction; it can be killed anywhere and
   * goes on. Waits while some are on a wire: their sender records how they ended, or its lease runs out.
   */
  @ResumableJob(closeCampaign)
  async close(
    scope: ProjectScope,
    { campaignId }: { campaignId: string },
    { signal }: Pick<JobContext, 'signal'>,
  ): Promise<JobResult> {
    let next: Place | 'closed' | 'waiting' = FIRST;
    while (!signal.aborted && typeof next !== 'string')
      next = await this.#closeChunk(scope, campaignId, next);
    return next === 'closed' ? done : snooze(new Date(this.clock.now().getTime() + CLOSE_AGAIN_MS));
  }

  #closeChunk(scope: ProjectScope, campaignId: string, after: Place): Promise<Place | 'closed' | 'waiting'> {
    return this.database.transaction(scope, async () => {
      await walkFromFront(this.database);
      const campaign = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.campaigns as c')
        .select(['c.id', 'c.status', 'c.usagePeriod'])
        .where('c.id', '=', campaignId)
        .where('c.environmentId', '=', scope.environmentId)
        .where('c.closingSince', 'is not', null)
        .forUpdate()
        .executeTakeFirst();
      if (campaign === undefined) return 'closed';
      const { cancelled, unknown, last } = await this.#endOpen(scope, campaign, after);
      if (campaign.usagePeriod !== null)
        await this.quota.settle(scope, campaign.usagePeriod, { used: unknown, released: cancelled });
      if (last !== null) return last;
      const { numAffectedRows } = await sql`
        update messaging.campaigns c set closing_since = null, front_at = 'infinity'
        where c.id = ${campaignId} and c.environment_id = ${scope.environmentId}
          and ${firstOpenOf} is null
      `.execute(this.database.tables());
      return numAffectedRows === 1n ? 'closed' : 'waiting';
    });
  }

  /**
   * Takes deliveries that are claimed and not on a wire from their sender, whose lease ends with it. Those on the wire of a
   * sender that died may have arrived.
   */
  async #endOpen(scope: ProjectScope, campaign: ClosingCampaign, after: Place): Promise<ClosedChunk> {
    const now = this.clock.now();
    const reason = campaign.status === 'FAILED' ? 'campaign-failed' : 'campaign-cancelled';
    const inDoubt = sql`coalesce(${isInDoubt(sql`(select epoch from present)`)}, false)`;
    const { rows } = await sql<ClosedChunk>`
      /* close_campaign */ with present as materialized (
        select ${epochOf(scope)} as epoch
      ), open as materialized (
        select d.id, d.queued_on, d.next_attempt_at, ${inDoubt} as in_doubt
        from messaging.campaigns c cross join messaging.deliveries d
        where c.id = ${campaign.id} and c.environment_id = ${scope.environmentId} and ${isOpenOf}
          and (d.next_attempt_at, d.id) > (${after.at}::timestamptz, ${after.id}::uuid)
          and (not ${inDoubt} or d.lease_until <= ${now})
        order by d.next_attempt_at, d.id limit ${CHUNK} for update of d skip locked
      ), ended as (
        update messaging.deliveries d set
          state = case when open.in_doubt then 'AMBIGUOUS' else 'CANCELLED' end,
          reason = case when open.in_doubt then 'no-reply' else ${reason} end,
          finished_at = ${now}, ${unleased}, lease_epoch = null
        from open where d.id = open.id and d.queued_on = open.queued_on and d.environment_id = ${scope.environmentId}
        returning d.state
      )
      select count(*) filter (where state = 'CANCELLED') as cancelled, count(*) filter (where state = 'AMBIGUOUS') as unknown,
        (
          select jsonb_build_object('at', next_attempt_at, 'id', id) from open order by next_attempt_at desc, id desc limit 1
        ) as last
      from ended
    `.execute(this.database.tables());
    return rows[0] ?? { cancelled: 0, unknown: 0, last: null };
  }
}
