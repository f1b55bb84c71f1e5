import { type RawBuilder, sql } from 'kysely';
import type { RecipientsQuery } from '#audience';
import type { EmailQuotaService } from '#billing';
import { type BounceClass, bounceClassesOf, type Consequences } from '#deliverability';
import type { ProjectScope } from '#kernel';
import type { ClaimedDelivery, DeliveryKind } from '../../deliveries/delivery.js';
import { isQueuedOn } from '../../deliveries/delivery-queue.query.js';
import { countingNodes, nodeOfMail } from '../../engagement/automation-counters.repository.js';
import { COUNTERS_WRITER } from '../../engagement/campaign-counters.repository.js';
import { addingToHours, providerOfKey, relayOfHour } from '../../engagement/mail-hours.repository.js';
import type { DeliveryOutcome } from '../delivery-outcome.js';
import { LEASE_MS } from './delivery-claims.query.js';

/** Attempts that ended, and deliveries that go on the wire next, all of one partition. */
export interface OutcomeBatch {
  readonly outcomes: readonly DeliveryOutcome[];
  readonly starting: readonly ClaimedDelivery[];
  /** The period to settle against; null where e-mails are not counted, or each message has its own. */
  readonly usagePeriod: Date | null;
}

export interface OutcomeBatchRow {
  /** Ids, with commas between. */
  readonly marked: string;
  /** Ids of what was sent, with commas between; empty where nobody is told. */
  readonly sent: string;
  readonly failed: readonly FailedRow[];
  readonly epoch: number;
}

/** A delivery that was given up. */
export interface FailedRow {
  readonly id: string;
  /** The class of the refusal, or another reason. */
  readonly reason: string | null;
}

/** Parts of the statement that other contexts own. */
export interface OutcomeBatchDoors {
  readonly recipients: Pick<RecipientsQuery, 'mayReceive'>;
  readonly quota: Pick<EmailQuotaService, 'settling'>;
}

/** More follows from these refusals than that the delivery failed; a destination's own concern its pace. */
const isReturnedFor = ({ address, stops }: Consequences): boolean => address !== 'keep' || stops === 'domain';
export const RETURNED_CLASSES: readonly BounceClass[] = bounceClassesOf(isReturnedFor);

/**
 * The outcome batch: ends attempts, counts and settles them, and marks what goes on the wire next if it is still wanted. Mails that
 * the installation's relay took, nearly all, are written by their keys alone; the rest with the columns of each. The text is the
 * same for all batches of a kind of mail and a partition.
 */
export function outcomeBatch(
  scope: ProjectScope,
  { outcomes, starting, usagePeriod }: OutcomeBatch,
  { now, returnsSent }: { readonly now: Date; readonly returnsSent: boolean },
  { recipients, quota }: OutcomeBatchDoors,
): RawBuilder<OutcomeBatchRow> {
  const { sent = [], rest = [] } = Object.groupBy(outcomes, ({ state, providerMessageId }) =>
    state === 'SENT' && providerMessageId === null ? 'sent' : 'rest',
  );
  const deliveries = [...outcomes.map(({ delivery }) => delivery), ...starting];
  const environment = scope.environmentId;
  const partition = isQueuedOn(deliveries[0]?.queuedOn ?? null);
  // Found by their ids, since a plan may read the whole partition else, and compared with their leases as a set: `not in` is never
  // made a join.
  const isOneOf = (held: readonly ClaimedDelivery[]) => {
    const [ids, tokens] = [uuids(held.map(({ id }) => id)), uuids(held.map(({ leaseToken }) => leaseToken))];
    return sql`d.id = any(${ids}) and d.environment_id = ${environment} and ${partition}
          and ((d.id, d.lease_token) not in (
            select k.id, k.lease_token from unnest(${ids}, ${tokens}) as k(id, lease_token)
          )) is false`;
  };
  const mayReceive = (topicIds: RawBuilder<unknown>) =>
    recipients.mayReceive(scope, sql`d.subscriber_id`, topicIds, now);
  const isWanted: Record<DeliveryKind, RawBuilder<unknown>> = {
    CAMPAIGN: sql`exists (
            select 1 from messaging.campaigns c
            where c.id = d.source_id and c.environment_id = ${environment} and (c.status = 'SENDING') is true
              and ${mayReceive(sql`c.topic_ids`)}
          )`,
    AUTOMATION: sql`exists (
            select 1 from messaging.automation_runs r join messaging.automation_versions v on v.id = r.version_id
              and v.environment_id = r.environment_id
            where r.id = messaging.run_of_step(d.source_id) and r.environment_id = ${environment}
              and ${mayReceive(sql`array[v.mail_topic_ids[messaging.place_of_step(d.source_id) + 1]]`)}
          )`,
    OPT_IN: sql`true`,
    TEST: sql`true`,
    MESSAGE: sql`true`,
  };
  const kinds = [...new Set(deliveries.map(({ kind }) => kind))].sort();
  // `is true` keeps the look-ups from being made joins.
  const isStillWanted =
    kinds.length === 0
      ? sql`false`
      : sql`(${sql.join(
          kinds.map((kind) => sql`(d.kind = ${sql.lit(kind)} and ${isWanted[kind]})`),
          sql` or `,
        )}) is true`;
  // A crash of the server may have undone the mark of what was sent, and with it the count of the attempt: it is CLAIMED then.
  // Each of the rest is looked up by its keys in one value: there is no join that old statistics could lead astray.
  const writingRest =
    rest.length === 0
      ? sql``
      : sql`told as materialized (select ${JSON.stringify(byKeys(rest))}::jsonb as outcomes), rest as (
        update messaging.deliveries d set (state, reason, last_error, attempt, next_attempt_at, possible_duplicate,
          due_since, provider_message_id, sent_at, finished_at) = (
          select o.state, o.reason, o.last_error,
            greatest(d.attempt + o.tried * (d.state = 'CLAIMED')::int - o.uncounted, 0),
            greatest(o.next_attempt_at, d.next_attempt_at), o.possible_duplicate, coalesce(o.due_since, d.due_since),
            o.provider_message_id, case when o.state = 'SENT' then platform.now() end,
            case when o.state <> 'DEFERRED' then platform.now() end
          from told t cross join lateral jsonb_to_record(t.outcomes -> (d.id || '/' || d.lease_token)) as o(
            state text, reason text, last_error text, next_attempt_at timestamptz, due_since timestamptz,
            possible_duplicate boolean, provider_message_id text, tried int, uncounted int)
        ), lease_token = null, lease_until = null, lease_epoch = null
        where ${isOneOf(rest.map(({ delivery }) => delivery))}
        returning d.id, d.state, d.reason, d.kind, d.source_id, d.environment_id, d.relay_key, d.address_key
      ),`;
  const countingSteps = kinds.includes('AUTOMATION')
    ? sql`counted_nodes as (
        ${countingNodes(
          ['sent', 'delivered'],
          sql`select n.version_id, n.place, platform.now() as at, w.environment_id, 1 as sent, 1 as delivered
            from written w cross join lateral ${nodeOfMail(sql`w.source_id`, environment)} n
            where w.kind = 'AUTOMATION' and w.state = 'SENT'`,
        )} returning 1
      ), `
    : sql``;
  // Each message has its own.
  const isOfMessages = kinds.includes('MESSAGE');
  const period = isOfMessages ? sql`m.usage_period` : sql`${usagePeriod}::timestamptz`;
  const ofMessages = isOfMessages
    ? sql` join messaging.messages m on m.id = written.source_id and m.environment_id = ${environment} group by 1`
    : sql``;
  const notingAttempts = isOfMessages
    ? sql`attempted as (
        insert into messaging.message_events (environment_id, message_id, occurred_at, id, type, reply, relay_key)
        select w.environment_id, w.id, platform.now(), platform.new_id(), 'ATTEMPTED', a.reply, w.relay_key
        from written w join jsonb_to_recordset(${JSON.stringify(attemptsOf(outcomes))}::jsonb) as a(id uuid, reply text) on a.id = w.id
        where w.kind = 'MESSAGE' and w.id = w.source_id
        returning 1
      ), `
    : sql``;
  return sql<OutcomeBatchRow>`
      /* outcome_batch */ with sent as (
        update messaging.deliveries d set state = 'SENT', reason = null, last_error = null,
          attempt = d.attempt + (d.state = 'CLAIMED')::int, sent_at = platform.now(), finished_at = platform.now(),
          lease_token = null, lease_until = null, lease_epoch = null
        where ${isOneOf(sent.map(({ delivery }) => delivery))}
        returning d.id, d.state, d.reason, d.kind, d.source_id, d.environment_id, d.relay_key, d.address_key
      ), ${writingRest} written as (
        select * from sent ${rest.length === 0 ? sql`` : sql`union all select * from rest`}
      ), newly_sent as (
        select source_id, environment_id, count(*) as n from written
        where kind = 'CAMPAIGN' and state = 'SENT' group by source_id, environment_id order by source_id
      ), counted_sent as (
        insert into messaging.campaign_counters as c (campaign_id, writer, environment_id, sent, first_sent_at, last_sent_at)
        select source_id, ${COUNTERS_WRITER}, environment_id, n, platform.now(), platform.now() from newly_sent
        on conflict (campaign_id, writer, environment_id) do update set sent = c.sent + excluded.sent,
          first_sent_at = least(c.first_sent_at, excluded.first_sent_at),
          last_sent_at = greatest(c.last_sent_at, excluded.last_sent_at)
        returning 1
      ), counted_minute as (
        insert into messaging.campaign_minutes as m (campaign_id, minute, writer, environment_id, sent, delivered)
        select source_id, date_trunc('minute', platform.now()), ${COUNTERS_WRITER}, environment_id, n, n from newly_sent
        -- after the counters, as everywhere: one order of locks
        where (select count(*) from counted_sent) >= 0
        on conflict (campaign_id, minute, writer, environment_id) do update set sent = m.sent + excluded.sent,
          delivered = m.delivered + excluded.delivered
        returning 1
      ), ${notingAttempts}${countingSteps}counted_hour as (
        ${addingToHours({
          changes: sql`
            select environment_id, platform.now() as at, case when kind = 'CAMPAIGN' then source_id end as campaign_id,
              ${relayOfHour(sql`relay_key`)} as relay_key, ${providerOfKey(sql`address_key`)} as provider, 1 as sent, 1 as delivered
            from written where kind in ('CAMPAIGN', 'AUTOMATION') and state = 'SENT'`,
          figures: ['sent', 'delivered'],
          writer: COUNTERS_WRITER,
          after: kinds.includes('AUTOMATION') ? ['counted_minute', 'counted_nodes'] : ['counted_minute'],
        })}
      ), ended as materialized (
        -- by itself: on Citus a function asks nothing where a query of one table calls it
        select ${period} as period, count(*) filter (where state in ('SENT', 'AMBIGUOUS')) as used,
          count(*) filter (where state in ('FAILED', 'SKIPPED')) as released
        from written${ofMessages}
      ), settled as (
        select (${quota.settling(scope, sql`n.period`, { used: sql`n.used`, released: sql`n.released` })}) is null from ended n
        where n.period is not null and n.used + n.released > 0
      ), marked as (
        update messaging.deliveries d set state = 'SENDING', attempt = d.attempt + 1,
          lease_until = platform.now() + ${LEASE_MS}::float8 * interval '1 millisecond', relay_key = ${relayKeysOf(starting)}
        where ${isOneOf(starting)} and d.state = 'CLAIMED' and ${isStillWanted}
        returning d.id
      )
      select array_to_string(array(select id from marked), ',') as marked,
        (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'reason', reason)), '[]') from written
          where state = 'FAILED') as failed,
        ${returnsSent ? sql`array_to_string(array(select id from written where state = 'SENT'), ',')` : sql`''`} as sent,
        coalesce((select e.epoch from messaging.server_epoch e where e.environment_id = ${environment}), 0) as epoch,
        (select count(*) from settled) as settled
    `;
}

/** Columns of outcomes by `id/lease token`. */
function byKeys(outcomes: readonly DeliveryOutcome[]): Record<string, object> {
  return Object.fromEntries(
    outcomes.map((outcome) => [
      `${outcome.delivery.id}/${outcome.delivery.leaseToken}`,
      {
        state: outcome.state,
        reason: outcome.reason,
        last_error: outcome.lastError,
        next_attempt_at: outcome.nextAttemptAt,
        due_since: outcome.dueSince,
        possible_duplicate: outcome.possibleDuplicate,
        provider_message_id: outcome.providerMessageId,
        tried: outcome.tried ? 1 : 0,
        uncounted: outcome.uncounted ? 1 : 0,
      },
    ]),
  );
}

/** Attempts, each with the reply, or why there was none. */
const attemptsOf = (outcomes: readonly DeliveryOutcome[]): object[] =>
  outcomes.flatMap(({ delivery: { id }, tried, uncounted, reply, lastError }) =>
    tried && !uncounted ? [{ id, reply: reply ?? lastError }] : [],
  );

/** The relay by which a delivery `d` goes: what may have arrived is handed to no other, so it is written before. */
function relayKeysOf(starting: readonly ClaimedDelivery[]): RawBuilder<unknown> {
  const byId = starting.flatMap(({ id, relayKey }) => (relayKey === null ? [] : [[id, relayKey] as const]));
  return byId.length === 0
    ? sql`null`
    : sql`${JSON.stringify(Object.fromEntries(byId))}::jsonb ->> d.id::text`;
}

export const uuids = (ids: readonly string[]): RawBuilder<unknown> => sql`${`{${ids.join()}}`}::uuid[]`;
