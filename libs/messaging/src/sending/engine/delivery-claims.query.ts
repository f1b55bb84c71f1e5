import { type RawBuilder, sql } from 'kysely';
import type { Environment, ProjectScope } from '#kernel';
import { Database, leasedTo, named, present } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { Injectable } from '@nestjs/common';
import { environmentScopes, scopeColumns } from '#access';
import { ownStreams } from '#deliverability';
import type { ClaimedDelivery, DeliveryKind } from '../../deliveries/delivery.js';
import { isOpenOf, moveFront, PARTITION, walkFromFront } from '../../deliveries/campaign-front.query.js';
import type { AmbiguousPolicy } from '../../campaigns/campaign.js';

/** The length of a sender's lease on what it claimed. A living sender renews it; a dead one is found out after this time. */
export const LEASE_MS = 20_000;
export const RENEW_EVERY_MS = 5_000;

/** The present epoch of an environment's server, 0 until one has begun: see `messaging.server_epoch`. */
export const epochOf = ({ environmentId }: Pick<ProjectScope, 'environmentId'>) => sql<number>`coalesce(
    (select e.epoch from messaging.server_epoch e where e.environment_id = ${environmentId}), 0
  )`;

/** Begins an epoch, if none has begun since the server was made or recovered: later claims can rely on it. */
async function beginEpoch(database: Database, { environmentId }: ProjectScope): Promise<void> {
  await database
    .tables<MessagingTables>()
    .insertInto('messaging.server_epoch')
    .values({
      environmentId,
      epoch: sql`(extract(epoch from clock_timestamp()) * 1000000)::bigint`,
    })
    .onConflict((conflict) => conflict.column('environmentId').doNothing())
    .execute();
}

/** Kinds of mails that belong to no campaign's sending, and that one sender takes. */
export type SingleKinds = readonly ['OPT_IN', 'TEST'] | readonly [Exclude<DeliveryKind, 'CAMPAIGN'>];

/** The owner of a sender's mail: one project with relays of its own for it, or (`scope` is null) all projects without. */
export interface MailOwner {
  readonly environment: Environment;
  readonly scope: ProjectScope | null;
}

/** The kind of the deliveries of a relay's stream. */
const kindOf = (stream: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`case ${stream} when 'TRANSACTIONAL' then 'MESSAGE' else ${stream} end`;

/** True for mail of that environment and kind that is the owner's. Mail of the test environment goes by no relay. */
function byOwner(
  { environment, scope }: MailOwner,
  environmentId: RawBuilder<unknown>,
  kind: RawBuilder<unknown>,
): RawBuilder<unknown> {
  if (scope !== null) return sql`${environmentId} = ${scope.environmentId}`;
  // `not in` is never made a join: the relays are read once a statement.
  return environment === 'TEST'
    ? sql`true`
    : sql`((${environmentId}, ${kind}) not in (select environment_id, ${kindOf(sql`own.stream`)} from ${ownStreams} own)) is true`;
}

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

/** A delivery of no campaign (a confirmation, say) with its owner. */
interface ClaimedSingle {
  readonly scope: ProjectScope;
  readonly delivery: ClaimedDelivery;
}

/** A limit that varies, and would be another text to prepare as a literal. */
const varied = (limit: number): RawBuilder<number> => sql<number>`least(${limit}::bigint, ${MOST})`;

/** The most of any batch, for the planner, which does not know a batch's own limit. */
const MOST = 1_000;

// Open deliveries that are due and nobody's: never tried, waiting for a later try, or left by a sender that died.
const due = sql`d.next_attempt_at <= ${present}
          and (d.state in ('PENDING', 'DEFERRED') or (d.state in ('CLAIMED', 'SENDING') and d.lease_until <= ${present}))`;

/** Written with literals, as the indexes have it. */
const ofKinds = (kinds: SingleKinds): RawBuilder<unknown> =>
  kinds.length === 1 ? sql`d.kind = ${sql.lit(kinds[0])}` : sql`d.kind in ('OPT_IN', 'TEST')`;

/** True for a delivery `d` that a dead sender may have had on a wire: marked so, or of an epoch whose last marks may be missing. */
export const isInDoubt = (epoch: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`(d.state = 'SENDING' or (d.state = 'CLAIMED' and d.lease_epoch <> ${epoch}))`;

interface ClaimOptions {
  /** Variant of mails without one of their own. */
  readonly otherwise?: RawBuilder<unknown>;
  readonly limit: number;
  readonly leaseToken: string;
  /** The marks that follow are not waited for, where there is an epoch. */
  readonly inEpoch: boolean;
}

/** Claims deliveries for a sender: a batch a statement, SKIP LOCKED, so that senders never wait for each other. */
@Injectable()
export class DeliveryClaimsQuery {
  constructor(private readonly database: Database) {}

  /**
   * The owner's campaigns that have something to send now, or that are over, the one queued first at the head.
   * Waiting ones, be they thousands, are one look at an index each, and nothing more.
   */
  async campaignsUnderWay(owner: MailOwner): Promise<CampaignUnderWay[]> {
    const isAny = sql`exists (select 1 from messaging.campaigns where status = 'SENDING')`;
    if (!(await this.database.holds(isAny))) return [];
    const rows = await this.database.statement(
      'system',
      sql<ProjectScope & Omit<CampaignUnderWay, 'scope' | 'byOwnRelays'>>`${named('campaigns_under_way')}
        select c.id, ${PARTITION} as queued_on, c.ambiguous_policy,
          c.usage_period, is_due.yes is not null as is_due, ${scopeColumns}
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
    // `is true`: the campaign is found by its id, never among all that are being sent, be they thousands.
    const which = sql`d.source_id = ${id} and d.kind = 'CAMPAIGN' and d.queued_on = ${queuedOn}::date and d.finished_at is null
          and (d.next_attempt_at, d.id) >= (
            (select c.front_at from messaging.campaigns c where c.id = ${id} and c.environment_id = ${scope.environmentId}),
            (select c.front_id from messaging.campaigns c where c.id = ${id} and c.environment_id = ${scope.environmentId})
          )
          and exists (
            select 1 from messaging.campaigns c
            where c.id = ${id} and c.environment_id = d.environment_id and (c.status = 'SENDING') is true
              and c.usage_period is not distinct from ${usagePeriod}::timestamptz
          )`;
    return this.database.transaction(scope, async () => {
      await walkFromFront(this.database);
      await moveFront(this.database, scope, id);
      // A mark that a crash of the server undoes would take with it which relay a mail may have arrived by.
      const inEpoch = ambiguousPolicy === 'RESEND' && !byOwnRelays;
      const otherwise = sql`(
          select c.winning_variant from messaging.campaigns c where c.id = ${id} and c.environment_id = ${scope.environmentId}
        )`;
      const options = { limit, leaseToken, inEpoch, otherwise };
      const claimed = await this.#claim('claim_campaign', scope, which, options);
      if (inEpoch && claimed[0]?.leaseEpoch === null) await beginEpoch(this.database, scope);
      return claimed;
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
        const which = sql`d.single_ended_at is null and ${ofKinds(kinds)}`;
        const options = { limit: limit - claimed.length, leaseToken, inEpoch: false };
        const deliveries = await this.#claim('claim_singles', scope, which, options);
        claimed.push(...deliveries.map((delivery) => ({ scope, delivery })));
        if (claimed.length >= limit) break;
      }
      return claimed;
    });
  }

  /**
   * Claims deliveries `d` of one environment that are due and of `which`, soonest due first, in the open transaction. Not by
   * `leaseDue`: a dead sender's mails in doubt are told apart as they are claimed, and a batch has a token.
   */
  async #claim(
    name: string,
    { environmentId }: ProjectScope,
    which: RawBuilder<unknown>,
    { limit, leaseToken, inEpoch, otherwise }: ClaimOptions,
  ): Promise<ClaimedDelivery[]> {
    const { rows } = await sql<ClaimedDelivery>`${named(name)}
      with present as materialized (
        select ${epochOf({ environmentId })} as epoch
      ), candidates as (
        select d.id, d.queued_on, d.state, d.lease_epoch, d.possible_duplicate from messaging.deliveries d
        where d.environment_id = ${environmentId} and ${which} and ${due}
        order by d.next_attempt_at, d.id limit ${varied(limit)} for update skip locked
      ), due as materialized (
        select d.id, d.queued_on, coalesce(${isInDoubt(sql`present.epoch`)}, false) as in_doubt,
          d.possible_duplicate, present.epoch, ${present} as claimed_at
        from (select * from candidates limit ${MOST}) d cross join present
      )
      update messaging.deliveries d set state = 'CLAIMED',
        ${leasedTo(leaseToken, LEASE_MS)},
        lease_epoch = case when ${inEpoch}::boolean then nullif(due.epoch, 0) end,
        possible_duplicate = d.possible_duplicate or due.in_doubt
      from due where d.id = due.id and d.queued_on = due.queued_on and d.environment_id = ${environmentId}
      returning d.id, d.queued_on, d.kind, d.source_id, d.subscriber_id, d.address, d.locale, d.message_id, d.lease_token,
        d.lease_epoch, d.attempt, d.created_at, coalesce(d.due_since, due.claimed_at) as due_since,
        due.in_doubt as interrupted, due.possible_duplicate, d.relay_key, d.traceparent,
        ${otherwise === undefined ? sql`d.variant` : sql`coalesce(d.variant, ${otherwise}) as variant`}
    `.execute(this.database.tables());
    return rows;
  }

  /** Owners of the first `limit` mails of these kinds that are due; the one that waits longest comes first. */
  async #scopesWithSingles(owner: MailOwner, kinds: SingleKinds, limit: number): Promise<ProjectScope[]> {
    if (!(await this.#isAnySingle(kinds))) return [];
    const rows = await this.database.statement(
      'system',
      sql<ProjectScope>`${named('environments_of_singles')}
        select ${scopeColumns} from messaging.deliveries d join ${environmentScopes} e on e.environment_id = d.environment_id
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
      sql<ProjectScope & Pick<OwnStream, 'stream'>>`${named('own_streams')}
        select o.stream, ${scopeColumns}
        from (select distinct environment_id, ${kindOf(sql`own.stream`)} as stream from ${ownStreams} own) o
        join ${environmentScopes} e on e.environment_id = o.environment_id
        where e.environment = 'LIVE' and case o.stream
          when 'CAMPAIGN' then exists (
            select 1 from messaging.campaigns c where c.environment_id = o.environment_id and c.status = 'SENDING'
          )
          else exists (
            select 1 from messaging.deliveries d
            where d.environment_id = o.environment_id and d.kind = o.stream and d.kind in ('OPT_IN', 'TEST', 'AUTOMATION')
              and d.single_ended_at is null and ${due}
          ) or exists (
            select 1 from messaging.deliveries d
            where d.environment_id = o.environment_id and o.stream = 'MESSAGE' and d.kind = 'MESSAGE'
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
