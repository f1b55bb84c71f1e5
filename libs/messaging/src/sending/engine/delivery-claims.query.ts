import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { environmentScopes } from '#access';
import { ownStreams } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { Database, environmentOf, leasedTo, prepared, present } from '#platform';
import type { ClaimedDelivery, DeliveryKind } from '../../deliveries/delivery.js';
import { PARTITION } from '../../deliveries/partition.query.js';
import { SCOPE } from '../../deliveries/scope.query.js';
import type { AmbiguousPolicy } from '../../campaigns/campaign.js';
import { firstOpenOf, isOpenOf, walkFromFront, moveFront } from '../../deliveries/campaign-front.query.js';
import { byOwner, type MailOwner, type SingleKinds } from './mail-owner.query.js';
import { LEASE_MS } from './lease.js';
import { beginEpoch, epochOf } from './server-epoch.query.js';

/** A campaign that the engine is sending. */
export interface CampaignUnderWay {
  readonly id: string;
  readonly scope: ProjectScope;
  /** The partition of its deliveries, `YYYY-MM-DD`. */
  readonly queuedOn: string;
  readonly ambiguousPolicy: AmbiguousPolicy;
  /** It goes by relays of the project's own. */
  readonly byOwnRelays: boolean;
  /** The period whose e-mails are set aside for it; null where they are not counted. */
  readonly usagePeriod: Date | null;
  /** Something of it is to be sent now; else it is over. */
  readonly isDue: boolean;
}

/** Mail of a project that goes by relays of its own. */
export interface OwnStream {
  readonly scope: ProjectScope;
  readonly stream: DeliveryKind;
}

/** A delivery of its own (a confirmation, say), with whose it is. */
export interface ClaimedSingle {
  readonly scope: ProjectScope;
  readonly delivery: ClaimedDelivery;
}

/**
 * Of a campaign `c` that is found by its id: a plan made while few are being sent would look through all that are, for each mail,
 * when they are thousands.
 */
export const isSending = sql`(c.status = 'SENDING') is true`;

/** A limit that is another one each time, and would be another text to prepare as a literal. */
const varied = (limit: number): RawBuilder<number> => sql<number>`least(${limit}::bigint, ${MOST})`;

/** No batch has more: it tells the planner, who does not know a batch's own limit. */
const MOST = 1_000;

// Of what is open: due, and nobody's, which is never tried, waiting for a later try, or left by a sender that died.
const due = sql`
  d.next_attempt_at <= ${present}
  and (d.state in ('PENDING', 'DEFERRED') or (d.state in ('CLAIMED', 'SENDING') and d.lease_until <= ${present}))
`;

/** Whether all recipients of a campaign `c` are queued and none of its deliveries is open. */
export const isOver = sql`
  ${isSending} and c.expanded_at is not null and c.retry_from is null
    and ${firstOpenOf} is null
`;

/** In words that the indexes have. */
const ofKinds = (kinds: SingleKinds): RawBuilder<unknown> =>
  kinds.length === 1 ? sql`d.kind = ${sql.lit(kinds[0])}` : sql`d.kind in ('OPT_IN', 'TEST')`;

/** What may have been on a wire when its sender died: marked so, or of an epoch whose last marks may be missing. */
export const isInDoubt = (row: 'd' | 'due', epoch: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  (${sql.ref(row)}.state = 'SENDING' or (${sql.ref(row)}.state = 'CLAIMED' and ${sql.ref(row)}.lease_epoch <> ${epoch}))
`;

/**
 * Of one environment's candidates. `inEpoch`: the marks that follow are not waited for, where there is an epoch. Not by `leaseDue`: what a sender that died may have had on a wire is told
 * apart as it is claimed, and a batch has a token.
 */
const claim = (
  scope: ProjectScope,
  candidates: RawBuilder<unknown>,
  leaseToken: string,
  { inEpoch }: { readonly inEpoch: boolean },
): RawBuilder<unknown> => sql`
  present as materialized (select ${epochOf(scope)} as epoch),
  due as materialized (
    select due.id, due.queued_on, coalesce(${isInDoubt('due', sql`present.epoch`)}, false) as in_doubt,
      due.possible_duplicate, present.epoch, ${present} as claimed_at
    from (select * from (${candidates}) candidate limit ${MOST}) due cross join present
  ),
  claimed as (
    update messaging.deliveries d set state = 'CLAIMED', ${leasedTo(leaseToken, LEASE_MS)},
      lease_epoch = case when ${inEpoch}::boolean then nullif(due.epoch, 0) end,
      possible_duplicate = d.possible_duplicate or due.in_doubt
    from due where d.id = due.id and d.queued_on = due.queued_on and d.environment_id = ${environmentOf(scope)}
    returning d.id, d.queued_on, d.kind, d.source_id, d.subscriber_id, d.address, d.locale, d.message_id, d.lease_token,
      d.lease_epoch, d.attempt, d.created_at, coalesce(d.due_since, due.claimed_at) as due_since,
      due.in_doubt as interrupted, due.possible_duplicate, d.relay_key
  )
`;

/** Claims deliveries for a sender: a batch a statement, SKIP LOCKED, so that senders never wait for each other. */
@Injectable()
export class DeliveryClaimsQuery {
  constructor(private readonly database: Database) {}

  /**
   * The owner's campaigns that have something to send now, or that are over, the one queued first at the head.
   * Those that wait, be they thousands, are one look at an index each, and nothing more.
   */
  async campaignsUnderWay(owner: MailOwner): Promise<CampaignUnderWay[]> {
    const isAny = sql`exists (select 1 from messaging.campaigns where status = 'SENDING')`;
    if (!(await this.database.holds(isAny))) return [];
    const rows = await this.database.statement(
      'system',
      sql<ProjectScope & Omit<CampaignUnderWay, 'scope' | 'byOwnRelays'>>`
        select c.id, ${PARTITION} as "queuedOn", c.ambiguous_policy as "ambiguousPolicy",
          c.usage_period as "usagePeriod", is_due.yes is not null as "isDue", ${SCOPE}
        from messaging.campaigns c left join lateral (
          select d.next_attempt_at from messaging.deliveries d where ${isOpenOf}
          order by d.next_attempt_at, d.id limit 1
        ) soonest on true left join lateral (
          select true as yes from messaging.deliveries d
          where soonest.next_attempt_at <= ${present} and ${isOpenOf} and ${due}
          order by d.next_attempt_at, d.id limit 1
        ) is_due on true join ${environmentScopes} e on e.environment_id = c.environment_id
        where c.status = 'SENDING' and ${byOwner(owner, sql`c.environment_id`, sql`'CAMPAIGN'`)}
          and (is_due.yes or (soonest.next_attempt_at is null and c.expanded_at is not null and c.retry_from is null))
          and e.environment = ${owner.environment}
        order by c.queued_at
      `,
    );
    return rows.map((row) => ({ ...row, scope: scopeOf(row), byOwnRelays: owner.scope !== null }));
  }

  /** None when the campaign has been stopped, or sent anew, since it was seen under way. */
  claimCampaign(
    { scope, id, queuedOn, usagePeriod, ambiguousPolicy, byOwnRelays }: CampaignUnderWay,
    limit: number,
    leaseToken: string,
  ): Promise<ClaimedDelivery[]> {
    const front = (column: string) =>
      sql`(select c.${sql.ref(column)} from messaging.campaigns c where c.id = ${id} and c.environment_id = ${environmentOf(scope)})`;
    const candidates = sql`
      select d.id, d.queued_on, d.state, d.lease_epoch, d.possible_duplicate from messaging.deliveries d
      where d.source_id = ${id} and d.environment_id = ${environmentOf(scope)} and d.kind = 'CAMPAIGN' and d.queued_on = ${queuedOn}::date
        and d.finished_at is null and (d.next_attempt_at, d.id) >= (${front('front_at')}, ${front('front_id')}) and ${due}
        and exists (
          select 1 from messaging.campaigns c
          where c.id = ${id} and c.environment_id = d.environment_id and ${isSending} and c.usage_period is not distinct from ${usagePeriod}::timestamptz
        )
      order by d.next_attempt_at, d.id limit ${varied(limit)} for update skip locked
    `;
    return this.database.transaction(scope, async () => {
      await walkFromFront(this.database);
      await moveFront(this.database, scope, id);
      // A mark that a crash of the server undoes would take with it which relay a mail may have arrived by.
      const inEpoch = ambiguousPolicy === 'RESEND' && !byOwnRelays;
      const claimed = claim(scope, candidates, leaseToken, { inEpoch });
      const statement = sql<ClaimedDelivery>`${prepared} with ${claimed} select * from claimed`;
      const { rows } = await statement.execute(this.database.tables());
      if (inEpoch && rows[0]?.leaseEpoch === null) await beginEpoch(this.database, scope);
      return rows;
    });
  }

  /** The owner's mails that belong to no campaign's sending, of these kinds, soonest due first. */
  async claimSingles(
    owner: MailOwner,
    kinds: SingleKinds,
    limit: number,
    leaseToken: string,
  ): Promise<ClaimedSingle[]> {
    const scopes = owner.scope === null ? await this.#scopesWithSingles(owner, kinds, limit) : [owner.scope];
    if (scopes.length === 0) return [];
    return this.database.system(async () => {
      const claimed: ClaimedSingle[] = [];
      for (const scope of scopes) {
        const deliveries = await this.#claimSinglesOf(scope, kinds, limit - claimed.length, leaseToken);
        claimed.push(...deliveries.map((delivery) => ({ scope, delivery })));
        if (claimed.length >= limit) break;
      }
      return claimed;
    });
  }

  async #claimSinglesOf(
    scope: ProjectScope,
    kinds: SingleKinds,
    limit: number,
    leaseToken: string,
  ): Promise<ClaimedDelivery[]> {
    const candidates = sql`
      select d.id, d.queued_on, d.state, d.lease_epoch, d.possible_duplicate from messaging.deliveries d
      where d.environment_id = ${environmentOf(scope)} and d.single_ended_at is null and ${ofKinds(kinds)} and ${due}
      order by d.next_attempt_at, d.id limit ${varied(limit)} for update skip locked
    `;
    const { rows } = await sql<ClaimedDelivery>`
      ${prepared} with ${claim(scope, candidates, leaseToken, { inEpoch: false })} select * from claimed
    `.execute(this.database.tables());
    return rows;
  }

  /** Whose mails of these kinds the first `limit` that are due are; who waits longest comes first. */
  async #scopesWithSingles(owner: MailOwner, kinds: SingleKinds, limit: number): Promise<ProjectScope[]> {
    if (!(await this.#isAnySingle(kinds))) return [];
    const rows = await this.database.statement(
      'system',
      sql<ProjectScope>`
        select ${SCOPE} from messaging.deliveries d join ${environmentScopes} e on e.environment_id = d.environment_id
        where d.single_ended_at is null and ${ofKinds(kinds)} and ${due} and ${byOwner(owner, sql`d.environment_id`, sql`d.kind`)}
          and e.environment = ${owner.environment}
        order by d.next_attempt_at, d.id limit ${varied(limit)}
      `,
    );
    return [...new Map(rows.map((row) => [row.environmentId, scopeOf(row)])).values()];
  }

  /** The streams of live mail with relays of their project's own that have something to do now. */
  async ownStreamsUnderWay(): Promise<OwnStream[]> {
    if (!(await this.database.holds(sql`exists (select 1 from ${ownStreams} o)`))) return [];
    const rows = await this.database.statement(
      'system',
      sql<ProjectScope & Pick<OwnStream, 'stream'>>`
        select o.stream, ${SCOPE}
        from (select distinct environment_id, stream from ${ownStreams} own) o
        join ${environmentScopes} e on e.environment_id = o.environment_id
        where e.environment = 'LIVE' and case o.stream
          when 'CAMPAIGN' then exists (
            select 1 from messaging.campaigns c where c.environment_id = o.environment_id and c.status = 'SENDING'
          )
          else exists (
            select 1 from messaging.deliveries d
            where d.environment_id = o.environment_id and d.kind = o.stream and d.kind in ('OPT_IN', 'TEST', 'AUTOMATION')
              and d.single_ended_at is null and ${due}
          ) end
      `,
    );
    return rows.map((row) => ({ scope: scopeOf(row), stream: row.stream }));
  }

  /** The soonest alone is read, from the index of each partition. */
  #isAnySingle(kinds: SingleKinds): Promise<boolean> {
    return this.database.holds(
      sql`(
        select d.next_attempt_at from messaging.deliveries d where d.single_ended_at is null and ${ofKinds(kinds)}
        order by d.next_attempt_at limit 1
      ) <= ${present}`,
    );
  }
}

function scopeOf({ tenantId, projectId, environmentId, environment }: ProjectScope): ProjectScope {
  return { tenantId, projectId, environmentId, environment };
}
