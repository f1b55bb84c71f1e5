import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { environmentOf, present, presentAnd, unleased } from '#platform';
import { bounceClassesIn } from '../../engagement/address-consequences.service.js';
import { countingSent } from '../../engagement/campaign-counters.repository.js';
import type { ClaimedDelivery, DeliveryKind } from '../../deliveries/delivery.js';
import { isSending } from './delivery-claims.query.js';
import { LEASE_MS } from './lease.js';
import type { DeliveryOutcome } from '../delivery-outcome.js';
import { isReturnedFor, type ReturnedRow } from './returned-deliveries.service.js';
import { epochOf } from './server-epoch.query.js';

/** What one outcome batch writes: how attempts ended, and which deliveries go on the wire next. */
export interface OutcomeBatch {
  readonly outcomes: readonly DeliveryOutcome[];
  readonly starting: readonly ClaimedDelivery[];
  /** The period to settle against; null where e-mails are not counted. */
  readonly usagePeriod: Date | null;
  /** Whether to wait until it outlasts a crash of the server. */
  readonly flushed: boolean;
}

/** What other contexts say of it, as SQL. */
export interface OutcomeBatchParts {
  /** Whether the world outside is told of what was sent. */
  readonly tells: boolean;
  /** Whether the mail may go: of a delivery `d` and its campaign `c`, or the version `v` of its automation. */
  readonly wanted: Readonly<Record<'ofCampaign' | 'ofAutomation', RawBuilder<unknown>>>;
  readonly settle: (change: {
    readonly period: RawBuilder<unknown>;
    readonly used: RawBuilder<unknown>;
    readonly released: RawBuilder<unknown>;
  }) => RawBuilder<unknown>;
}

export interface OutcomeBatchRow {
  /** Ids, with commas between. */
  readonly marked: string;
  /** Ids of what was sent, with commas between; empty where nobody is told. */
  readonly sent: string;
  /** What the next hop refused for good because of the address or the sender. */
  readonly returned: readonly ReturnedRow[];
  readonly epoch: number;
}

/** One statement: its text is one for a kind of mail and a partition. */
export function outcomeBatchStatement(
  scope: ProjectScope,
  { outcomes, starting, usagePeriod }: OutcomeBatch,
  { wanted, settle, tells }: OutcomeBatchParts,
): RawBuilder<OutcomeBatchRow> {
  const { sent = [], rest = [] } = Object.groupBy(outcomes, ({ state, providerMessageId }) =>
    state === 'SENT' && providerMessageId === null ? 'sent' : 'rest',
  );
  const deliveries = [...deliveriesOf(outcomes), ...starting];
  const lies = sql`d.environment_id = ${environmentOf(scope)} and ${liesOn(deliveries[0]?.queuedOn ?? null)}`;
  const kinds = [...new Set(deliveries.map(({ kind }) => kind))].sort();
  const settlement = settle({ period: sql`n.period`, used: sql`n.used`, released: sql`n.released` });
  return sql<OutcomeBatchRow>`
    with ${writing({ sent, rest }, lies)}, ${countingSent('written')}, settled as (
      select (${settlement}) is null from (
        select ${usagePeriod}::timestamptz as period, count(*) filter (where state in ('SENT', 'AMBIGUOUS')) as used,
          count(*) filter (where state in ('FAILED', 'SKIPPED')) as released
        from written
      ) n where n.period is not null and n.used + n.released > 0
    ), ${marking(starting, lies, mayGo(scope, kinds, wanted))}
    select array_to_string(array(select id from marked), ',') as marked,
      (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'reason', reason)), '[]')
        from written where state = 'FAILED' and reason in (${RETURNED_CLASSES})) as returned,
      ${tells ? SENT_IDS : sql`''`} as sent, ${epochOf(scope)} as epoch, (select count(*) from settled) as settled
  `;
}

const RETURNED_CLASSES = bounceClassesIn(isReturnedFor);

const SENT_IDS = sql`array_to_string(array(select id from written where state = 'SENT'), ',')`;

/** What was sent by the installation's relay, which is nearly all, by its keys alone; the rest with what there is to say of each. */
const writing = (
  { sent, rest }: Readonly<Record<'sent' | 'rest', readonly DeliveryOutcome[]>>,
  lies: RawBuilder<unknown>,
) => sql`
  sent as (
    update messaging.deliveries d set state = 'SENT', reason = null, last_error = null, attempt = d.attempt + ${lostMark},
      sent_at = ${present}, finished_at = ${present}, ${unleased}, lease_epoch = null
    where ${isOneOf(deliveriesOf(sent), lies)}
    returning ${WRITTEN}
  ), ${rest.length === 0 ? sql`` : sql`${writingRest(rest, lies)},`}
  written as (select * from sent ${rest.length === 0 ? sql`` : sql`union all select * from rest`})
`;

/** A crash of the server may have undone the mark of what was sent, and with it the count of the attempt. */
const lostMark = sql`(d.state = 'CLAIMED')::int`;

const deliveriesOf = (outcomes: readonly DeliveryOutcome[]) => outcomes.map(({ delivery }) => delivery);

const WRITTEN = sql`d.id, d.state, d.reason, d.kind, d.source_id, d.environment_id`;

/** Looks each up by its keys in one value: there is no join that old statistics could lead astray. */
const writingRest = (outcomes: readonly DeliveryOutcome[], lies: RawBuilder<unknown>) => {
  const byKeys = Object.fromEntries(
    outcomes.map((outcome) => [
      `${outcome.delivery.id}/${outcome.delivery.leaseToken}`,
      outcomeColumns(outcome),
    ]),
  );
  return sql`
    told as materialized (select ${JSON.stringify(byKeys)}::jsonb as outcomes),
    rest as (
      update messaging.deliveries d set (state, reason, last_error, attempt, next_attempt_at, possible_duplicate,
        due_since, provider_message_id, sent_at, finished_at) = (
        select o.state, o.reason, o.last_error, greatest(d.attempt + o.tried * ${lostMark} - o.uncounted, 0), greatest(o.next_attempt_at, d.next_attempt_at),
          o.possible_duplicate, coalesce(o.due_since, d.due_since), o.provider_message_id,
          case when o.state = 'SENT' then ${present} end, case when o.state <> 'DEFERRED' then ${present} end
        from told t cross join lateral jsonb_to_record(t.outcomes -> (d.id || '/' || d.lease_token)) as o(state text, reason text,
          last_error text, next_attempt_at timestamptz, due_since timestamptz, possible_duplicate boolean, provider_message_id text, tried int, uncounted int)
      ), ${unleased}, lease_epoch = null
      where ${isOneOf(deliveriesOf(outcomes), lies)}
      returning ${WRITTEN}
    )
  `;
};

function outcomeColumns(outcome: DeliveryOutcome) {
  return {
    state: outcome.state,
    reason: outcome.reason,
    last_error: outcome.lastError,
    next_attempt_at: outcome.nextAttemptAt,
    due_since: outcome.dueSince,
    possible_duplicate: outcome.possibleDuplicate,
    provider_message_id: outcome.providerMessageId,
    tried: outcome.tried ? 1 : 0,
    uncounted: outcome.uncounted ? 1 : 0,
  };
}

/** With a whole lease, whatever is left of the claim's: nobody else takes it for abandoned while it is on a wire. */
const marking = (
  starting: readonly ClaimedDelivery[],
  lies: RawBuilder<unknown>,
  condition: RawBuilder<unknown>,
) => sql`
  marked as (
    update messaging.deliveries d set state = 'SENDING', attempt = d.attempt + 1, lease_until = ${presentAnd(LEASE_MS)},
      relay_key = ${relaysOf(starting)}
    where ${isOneOf(starting, lies)} and d.state = 'CLAIMED' and ${condition}
    returning d.id
  )
`;

/** By which relay a delivery `d` goes: what may have arrived is handed to no other, so it is written before. */
function relaysOf(starting: readonly ClaimedDelivery[]): RawBuilder<unknown> {
  const byId = starting.flatMap(({ id, relayKey }) => (relayKey === null ? [] : [[id, relayKey] as const]));
  return byId.length === 0
    ? sql`null`
    : sql`${JSON.stringify(Object.fromEntries(byId))}::jsonb ->> d.id::text`;
}

/**
 * Says of a delivery `d` that it is one of these, which lie there, each by the lease that it was claimed with. They are found by their ids, since
 * a plan may read the whole partition else, and compared with their leases as a set: `not in` is never made a join.
 */
function isOneOf(deliveries: readonly ClaimedDelivery[], lies: RawBuilder<unknown>): RawBuilder<unknown> {
  const ids = uuids(deliveries.map(({ id }) => id));
  const tokens = uuids(deliveries.map(({ leaseToken }) => leaseToken));
  return sql`d.id = any(${ids}) and ${lies}
    and ((d.id, d.lease_token) not in (select k.id, k.lease_token from unnest(${ids}, ${tokens}) as k(id, lease_token))) is false`;
}

/** Whether a delivery `d` of one of these kinds is still wanted; of another kind it is not. */
function mayGo(
  scope: ProjectScope,
  kinds: readonly DeliveryKind[],
  wanted: OutcomeBatchParts['wanted'],
): RawBuilder<unknown> {
  const environment = environmentOf(scope);
  const conditions = {
    CAMPAIGN: sql`exists (
      select 1 from messaging.campaigns c
      where c.id = d.source_id and c.environment_id = ${environment} and ${isSending} and ${wanted.ofCampaign}
    )`,
    AUTOMATION: sql`exists (
      select 1 from messaging.automation_runs r join messaging.automation_versions v on v.id = r.version_id
        and v.environment_id = r.environment_id
      where r.id = messaging.run_of_step(d.source_id) and r.environment_id = ${environment} and ${wanted.ofAutomation}
    )`,
    OPT_IN: sql`true`,
    TEST: sql`true`,
  };
  const wantedOf = kinds.map((kind) => sql`(d.kind = ${sql.lit(kind)} and ${conditions[kind]})`);
  // `is true` keeps the look-ups from being made joins.
  return wantedOf.length === 0 ? sql`false` : sql`(${sql.join(wantedOf, sql` or `)}) is true`;
}

const uuids = (ids: readonly string[]) => sql`${`{${ids.join()}}`}::uuid[]`;

/** Says of a delivery `d` on which day it was queued, and to the planner of which month: of one partition, not of all. */
function liesOn(date: string | null): RawBuilder<unknown> {
  if (date === null) return sql`false`;
  const [year = 0, month = 0] = date.split('-').map(Number);
  const [from, to] = [0, 1].map((months) =>
    new Date(Date.UTC(year, month - 1 + months, 1)).toISOString().slice(0, 10),
  );
  return sql`d.queued_on = ${date}::date and d.queued_on >= ${sql.lit(from)}::date and d.queued_on < ${sql.lit(to)}::date`;
}

/**
 * Says of a delivery `d` that it is one of these, of one partition, and still this sender's. A token is made for each
 * claim, so one that it has from another claim of this sender is as good.
 */
export function isHeld(scope: ProjectScope, deliveries: readonly ClaimedDelivery[]): RawBuilder<unknown> {
  const tokens = [...new Set(deliveries.map(({ leaseToken }) => leaseToken))];
  return sql`d.id = any(${uuids(deliveries.map(({ id }) => id))}) and d.environment_id = ${environmentOf(scope)} and d.queued_on = ${deliveries[0]?.queuedOn ?? null}::date
    and d.lease_token = any(${tokens}::uuid[])`;
}
