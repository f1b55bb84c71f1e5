import { type RawBuilder, sql } from 'kysely';
import { countingSent } from '../tracking/campaign-counters.query.js';
import type { ClaimedDelivery } from './delivery.js';
import type { DeliveryOutcome } from './delivery-outcome.js';
import type { WrittenState } from './returned-deliveries.service.js';

/** What one exchange writes: how attempts ended, and which deliveries go on the wire next. */
export interface JournalEntry {
  readonly outcomes: readonly DeliveryOutcome[];
  readonly starting: readonly ClaimedDelivery[];
  /** The period to settle against; null where e-mails are not counted. */
  readonly usagePeriod: Date | null;
  /** Whether to wait until it outlasts a crash of the server. */
  readonly flushed: boolean;
}

/** What other contexts say of it, as SQL. */
export interface ExchangeParts {
  /** Whether the mail may go: of a delivery `d` and its campaign `c`, or the version `v` of its automation. */
  readonly wanted: Readonly<Record<'ofCampaign' | 'ofAutomation', RawBuilder<unknown>>>;
  readonly settle: (change: {
    readonly period: RawBuilder<unknown>;
    readonly used: RawBuilder<unknown>;
    readonly released: RawBuilder<unknown>;
  }) => RawBuilder<unknown>;
}

export interface ExchangeRow {
  readonly marked: string[];
  /** What the next hop refused for good because of the address. */
  readonly returned: readonly WrittenState[];
  readonly era: number;
}

/** One statement, the same text whatever it is given, so that it is planned once. */
export function exchangeStatement(
  entry: JournalEntry,
  now: Date,
  { wanted, settle }: ExchangeParts,
): RawBuilder<ExchangeRow> {
  const queuedOn = entry.outcomes[0]?.delivery.queuedOn ?? entry.starting[0]?.queuedOn ?? null;
  const settlement = settle({ period: sql`n.period`, used: sql`n.used`, released: sql`n.released` });
  return sql<ExchangeRow>`
    with ${writing(entry.outcomes, queuedOn, now)}, ${countingSent('written', now)}, settled as (
      select ${settlement} from (
        select ${entry.usagePeriod}::timestamptz as period, count(*) filter (where state in ('SENT', 'AMBIGUOUS')) as used,
          count(*) filter (where state in ('FAILED', 'SKIPPED')) as released
        from written
      ) n where n.period is not null and n.used + n.released > 0
    ), ${marking(entry.starting, queuedOn, wanted)}
    select array(select id from marked) as marked,
      (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'state', state, 'reason', reason)), '[]')
        from written where state = 'FAILED' and reason in ('hard', 'mailbox', 'sender')) as returned,
      messaging.current_era() as era, (select count(*) from settled) as settled
  `;
}

const writing = (outcomes: readonly DeliveryOutcome[], queuedOn: string | null, now: Date) => sql`
  written as (
    update messaging.deliveries d set state = o.state, reason = o.reason, last_error = o.last_error,
      attempt = greatest(d.attempt - o.uncounted, 0), next_attempt_at = coalesce(o.next_attempt_at, d.next_attempt_at),
      possible_duplicate = o.possible_duplicate, due_since = coalesce(o.due_since, d.due_since),
      sent_at = case when o.state = 'SENT' then ${now}::timestamptz else d.sent_at end,
      finished_at = case when o.state = 'DEFERRED' then null else ${now}::timestamptz end,
      lease_token = null, lease_until = null, lease_era = null
    from jsonb_to_recordset(${JSON.stringify(outcomes.map(outcomeColumns))}::jsonb) as o(id uuid, lease_token uuid,
      state text, reason text, last_error text, next_attempt_at timestamptz, due_since timestamptz, possible_duplicate boolean, uncounted int)
    where ${isAmong(outcomes.map(({ delivery }) => delivery))} and d.id = o.id and d.queued_on = ${queuedOn}::date
      and d.lease_token = o.lease_token
    returning d.id, d.state, d.reason, d.kind, d.source_id, d.environment_id
  )
`;

function outcomeColumns({ delivery, ...outcome }: DeliveryOutcome) {
  return {
    id: delivery.id,
    lease_token: delivery.leaseToken,
    state: outcome.state,
    reason: outcome.reason,
    last_error: outcome.lastError,
    next_attempt_at: outcome.nextAttemptAt,
    due_since: outcome.dueSince,
    possible_duplicate: outcome.possibleDuplicate,
    uncounted: outcome.uncounted ? 1 : 0,
  };
}

const marking = (
  starting: readonly ClaimedDelivery[],
  queuedOn: string | null,
  wanted: ExchangeParts['wanted'],
) => sql`
  marked as (
    update messaging.deliveries d set state = 'SENDING', attempt = d.attempt + 1 from ${keysOf(starting)}
    where ${isAmong(starting)} and d.id = k.id and d.queued_on = ${queuedOn}::date and d.lease_token = k.lease_token
      and d.state = 'CLAIMED'
      and case d.kind
        when 'CAMPAIGN' then exists (
          select from messaging.campaigns c
          where c.id = d.source_id and c.status = 'SENDING' and ${wanted.ofCampaign}
        )
        when 'AUTOMATION' then exists (
          select from messaging.automation_runs r join messaging.automation_versions v on v.id = r.version_id
          where r.id = messaging.run_of_step(d.source_id) and ${wanted.ofAutomation}
        )
        else true
      end
    returning d.id
  )
`;

/** Says of a delivery `d` that it is one of these: without it a plan may read the whole partition. */
function isAmong(deliveries: readonly ClaimedDelivery[]): RawBuilder<unknown> {
  return sql`d.id = any(${deliveries.map(({ id }) => id)}::uuid[])`;
}

/**
 * Says of a delivery `d` that it is one of these, of one partition, and still this sender's. A token is made for each
 * claim, so one that it has from another claim of this sender is as good.
 */
export function isHeld(deliveries: readonly ClaimedDelivery[]): RawBuilder<unknown> {
  const tokens = [...new Set(deliveries.map(({ leaseToken }) => leaseToken))];
  return sql`${isAmong(deliveries)} and d.queued_on = ${deliveries[0]?.queuedOn ?? null}::date
    and d.lease_token = any(${tokens}::uuid[])`;
}

/** Deliveries in hand, as a set `k`. */
function keysOf(deliveries: readonly ClaimedDelivery[]): RawBuilder<unknown> {
  const keys = deliveries.map(({ id, leaseToken }) => ({ id, lease_token: leaseToken }));
  return sql`jsonb_to_recordset(${JSON.stringify(keys)}::jsonb) as k(id uuid, lease_token uuid)`;
}
