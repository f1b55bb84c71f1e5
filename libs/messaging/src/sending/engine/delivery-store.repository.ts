import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { RecipientsQuery } from '#audience';
import { EmailQuotaService } from '#billing';
import { type BounceClass, bounceClassesOf, CONSEQUENCES, type Consequences } from '#deliverability';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { Database, present, presentAnd, unleased, named } from '#platform';
import type { ClaimedDelivery, DeliveryKind } from '../../deliveries/delivery.js';
import {
  AddressConsequencesService,
  bounceClassesIn,
} from '../../engagement/address-consequences.service.js';
import { addToMinutes, COUNTERS_WRITER } from '../../engagement/campaign-counters.repository.js';
import { MailPublisher } from '../../engagement/mail-publisher.service.js';
import type { DeliveryOutcome } from '../delivery-outcome.js';
import { epochOf, isSending, LEASE_MS } from './delivery-claims.query.js';

/** Attempts that ended, and deliveries that go on the wire next, all of one partition. */
interface OutcomeBatch {
  readonly outcomes: readonly DeliveryOutcome[];
  readonly starting: readonly ClaimedDelivery[];
  /** The period to settle against; null where e-mails are not counted. */
  readonly usagePeriod: Date | null;
  /** Waits until it outlasts a crash of the server. */
  readonly flushed: boolean;
}

interface OutcomeBatchRow {
  /** Ids, with commas between. */
  readonly marked: string;
  /** Ids of what was sent, with commas between; empty where nobody is told. */
  readonly sent: string;
  readonly returned: readonly ReturnedRow[];
  readonly epoch: number;
}

/** A delivery that the next hop refused for good because of the address or the sender. */
interface ReturnedRow {
  readonly id: string;
  readonly reason: BounceClass;
}

/** The result of an outcome batch. */
interface WrittenBatch {
  /** The ids of `starting` that may be sent now. */
  readonly marked: ReadonlySet<string>;
  /** The epoch in which it was written: see `messaging.server_epoch`. */
  readonly epoch: number;
}

/** More follows from these refusals than that the delivery failed; a destination's own concern its pace. */
const isReturnedFor = ({ address, stops }: Consequences): boolean => address !== 'keep' || stops === 'domain';
const RETURNED_CLASSES: readonly string[] = bounceClassesOf(isReturnedFor);
const IN_RETURNED_CLASSES = sql`in (${bounceClassesIn(isReturnedFor)})`;

/** Writes the engine's progress: an outcome batch in one statement. Only rows whose lease is still this sender's are touched. */
@Injectable()
export class DeliveryStore {
  constructor(
    private readonly database: Database,
    private readonly quota: EmailQuotaService,
    private readonly recipients: RecipientsQuery,
    private readonly publisher: MailPublisher,
    private readonly addresses: AddressConsequencesService,
  ) {}

  /**
   * Records outcomes, and marks those of `starting` that may be sent now: still leased, their campaign still sending, and still
   * wanted. A pause or an unsubscription that has been committed before counts.
   */
  async write(scope: ProjectScope, batch: OutcomeBatch, now: Date): Promise<WrittenBatch> {
    if (!this.#hasConsequences(scope, batch)) return this.#writeBatch(scope, batch, now);
    await this.#writeWithConsequences(scope, { ...batch, starting: [] }, now);
    return this.#writeBatch(scope, { ...batch, outcomes: [] }, now);
  }

  /** The present epoch of the server that has the environment's rows. */
  async epoch(scope: ProjectScope): Promise<number> {
    const [row] = await this.database.statement(
      scope,
      sql<{ readonly epoch: number }>`${named('server_epoch')} select ${epochOf(scope)} as epoch`,
      { flushed: false },
    );
    if (row === undefined) throw new Error('PostgreSQL did not return its epoch.');
    return row.epoch;
  }

  /** Resolves when all that the environment's server has committed before outlasts a crash of it. */
  async flush(scope: ProjectScope): Promise<void> {
    // A transaction that writes nothing to the log would not be waited for.
    await this.database.statement(
      scope,
      sql`${named('flush_server_epoch')}
        select pg_logical_emit_message(true, 'mailwright', '') from messaging.server_epoch e
        where e.environment_id = ${scope.environmentId}
      `,
    );
  }

  /**
   * Lengthens the lease on deliveries in hand, all of one partition. It waits for no outcome batch, which may wait for it: rows
   * that one writes just now are left to the next renewal.
   */
  async renew(scope: ProjectScope, deliveries: readonly ClaimedDelivery[]): Promise<void> {
    await this.database.transaction(scope, async () => {
      await sql`
        with held as materialized (
          select d.id from messaging.deliveries d where ${isHeld(scope, deliveries)} for no key update skip locked
        )
        update messaging.deliveries d set lease_until = ${presentAnd(LEASE_MS)}
        where ${isHeld(scope, deliveries)} and d.id = any(array(select id from held))
      `.execute(this.database.tables());
    });
  }

  /** Gives back what was claimed and never put on a wire, all of one partition. */
  async release(scope: ProjectScope, deliveries: readonly ClaimedDelivery[]): Promise<void> {
    await this.database.transaction(scope, async () => {
      await sql`
        update messaging.deliveries d set ${unleased}, lease_epoch = null,
          state = case when d.attempt = 0 then 'PENDING' else 'DEFERRED' end
        where ${isHeld(scope, deliveries)} and d.state = 'CLAIMED'
      `.execute(this.database.tables());
    });
  }

  /** More follows from the outcomes: they are written in a transaction with it. */
  #hasConsequences(scope: ProjectScope, { outcomes }: OutcomeBatch): boolean {
    if (outcomes.some(isReturned)) return true;
    return this.publisher.hasDeliveredListeners(scope) && outcomes.some(({ state }) => state === 'SENT');
  }

  async #writeBatch(scope: ProjectScope, batch: OutcomeBatch, now: Date): Promise<WrittenBatch> {
    const statement = this.#statementOf(scope, batch, now, false);
    const [row] = await this.database.statement(scope, statement, { flushed: batch.flushed });
    if (row === undefined) throw new Error('PostgreSQL returned no row for the outcome batch.');
    return { marked: new Set(row.marked === '' ? [] : row.marked.split(',')), epoch: row.epoch };
  }

  async #writeWithConsequences(scope: ProjectScope, batch: OutcomeBatch, now: Date): Promise<void> {
    await this.database.transaction(scope, async () => {
      const returnsSent = this.publisher.hasDeliveredListeners(scope);
      const { rows } = await this.#statementOf(scope, batch, now, returnsSent).execute(
        this.database.tables(),
      );
      const { returned, sent } = rows[0] ?? { returned: [], sent: '' };
      const queuedOn = batch.outcomes[0]?.delivery.queuedOn ?? '';
      const where = { environmentId: scope.environmentId, queuedOn };
      if (sent !== '') await this.publisher.delivered({ ...where, ids: sent.split(',') });
      for (const [bounceClass, ofOne] of Map.groupBy(returned, ({ reason }) => reason))
        if (CONSEQUENCES[bounceClass].address !== 'keep')
          await this.publisher.bounced({ ...where, ids: ofOne.map(({ id }) => id) }, bounceClass);
      await this.#followReturned(scope, returnedOf(batch.outcomes, returned), now);
    });
  }

  /** Counts refusals, by which a project's sending and its domain are judged, before it locks addresses, as everywhere. */
  async #followReturned(
    scope: ProjectScope,
    returned: ReturnType<typeof returnedOf>,
    finishedAt: Date,
  ): Promise<void> {
    const { environmentId } = scope;
    const changes = returned.flatMap(({ delivery: { kind, sourceId: campaignId }, bounceClass }) => {
      const { stops } = CONSEQUENCES[bounceClass];
      if (stops === null || kind !== 'CAMPAIGN') return [];
      const counted = stops === 'project' ? { hardRefused: 1 } : { senderRefused: 1 };
      return [{ campaignId, environmentId, at: finishedAt, ...counted }];
    });
    await addToMinutes(this.database, changes);
    for (const { delivery, addressKey, bounceClass } of returned) {
      const { id: deliveryId, kind, subscriberId, address } = delivery;
      const mail = { deliveryId, kind, subscriberId, address, addressKey, finishedAt };
      await this.addresses.follow(scope, mail, bounceClass);
    }
  }

  /**
   * The outcome batch. Mails that the installation's relay took, nearly all, are written by their keys alone; the rest with the
   * columns of each. The text is the same for all batches of a kind of mail and a partition.
   */
  #statementOf(
    scope: ProjectScope,
    { outcomes, starting, usagePeriod }: OutcomeBatch,
    now: Date,
    returnsSent: boolean,
  ): RawBuilder<OutcomeBatchRow> {
    const { sent = [], rest = [] } = Object.groupBy(outcomes, ({ state, providerMessageId }) =>
      state === 'SENT' && providerMessageId === null ? 'sent' : 'rest',
    );
    const deliveries = [...deliveriesOf(outcomes), ...starting];
    const isThere = sql`d.environment_id = ${scope.environmentId} and ${isQueuedOn(deliveries[0]?.queuedOn ?? null)}`;
    const kinds = [...new Set(deliveries.map(({ kind }) => kind))].sort();
    return sql<OutcomeBatchRow>`
      with sent as (
        update messaging.deliveries d set state = 'SENT', reason = null, last_error = null, attempt = d.attempt + ${lostMark},
          sent_at = ${present}, finished_at = ${present}, ${unleased}, lease_epoch = null
        where ${isOneOf(deliveriesOf(sent), isThere)}
        returning ${WRITTEN}
      ), ${rest.length === 0 ? sql`` : writingRest(rest, isThere)} written as (
        select * from sent ${rest.length === 0 ? sql`` : sql`union all select * from rest`}
      ), newly_sent as (
        select source_id, environment_id, count(*) as n from written
        where kind = 'CAMPAIGN' and state = 'SENT' group by source_id, environment_id order by source_id
      ), counted_sent as (
        insert into messaging.campaign_counters as c (campaign_id, writer, environment_id, sent, first_sent_at, last_sent_at)
        select source_id, ${COUNTERS_WRITER}, environment_id, n, ${present}, ${present} from newly_sent
        on conflict (campaign_id, writer, environment_id) do update set sent = c.sent + excluded.sent,
          first_sent_at = least(c.first_sent_at, excluded.first_sent_at),
          last_sent_at = greatest(c.last_sent_at, excluded.last_sent_at)
        returning 1
      ), counted_minute as (
        insert into messaging.campaign_minutes as m (campaign_id, minute, writer, environment_id, sent, delivered)
        select source_id, date_trunc('minute', ${present}), ${COUNTERS_WRITER}, environment_id, n, n from newly_sent
        -- after the counters, as everywhere: one order of locks
        where (select count(*) from counted_sent) >= 0
        on conflict (campaign_id, minute, writer, environment_id) do update set sent = m.sent + excluded.sent,
          delivered = m.delivered + excluded.delivered
      ), settled as (
        select (${this.quota.settling(scope, sql`n.period`, { used: sql`n.used`, released: sql`n.released` })}) is null from (
          select ${usagePeriod}::timestamptz as period, count(*) filter (where state in ('SENT', 'AMBIGUOUS')) as used,
            count(*) filter (where state in ('FAILED', 'SKIPPED')) as released
          from written
        ) n where n.period is not null and n.used + n.released > 0
      ), marked as (
        update messaging.deliveries d set state = 'SENDING', attempt = d.attempt + 1, lease_until = ${presentAnd(LEASE_MS)},
          relay_key = ${relayKeysOf(starting)}
        where ${isOneOf(starting, isThere)} and d.state = 'CLAIMED' and ${this.#isWanted(scope, kinds, now)}
        returning d.id
      )
      select array_to_string(array(select id from marked), ',') as marked,
        (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'reason', reason)), '[]')
          from written where state = 'FAILED' and reason ${IN_RETURNED_CLASSES}) as returned,
        ${returnsSent ? sql`array_to_string(array(select id from written where state = 'SENT'), ',')` : sql`''`} as sent,
        ${epochOf(scope)} as epoch, (select count(*) from settled) as settled
    `;
  }

  /** True for a delivery `d` of one of these kinds that is still wanted, and for none of another kind. */
  #isWanted(scope: ProjectScope, kinds: readonly DeliveryKind[], now: Date): RawBuilder<unknown> {
    const { environmentId } = scope;
    const mayReceive = (topicIds: RawBuilder<unknown>) =>
      this.recipients.mayReceive(scope, sql`d.subscriber_id`, topicIds, now);
    const conditions = {
      CAMPAIGN: sql`exists (
        select 1 from messaging.campaigns c
        where c.id = d.source_id and c.environment_id = ${environmentId} and ${isSending} and ${mayReceive(sql`c.topic_ids`)}
      )`,
      AUTOMATION: sql`exists (
        select 1 from messaging.automation_runs r join messaging.automation_versions v on v.id = r.version_id
          and v.environment_id = r.environment_id
        where r.id = messaging.run_of_step(d.source_id) and r.environment_id = ${environmentId}
          and ${mayReceive(sql`array[v.mail_topic_ids[messaging.place_of_step(d.source_id) + 1]]`)}
      )`,
      OPT_IN: sql`true`,
      TEST: sql`true`,
    };
    const wanted = kinds.map((kind) => sql`(d.kind = ${sql.lit(kind)} and ${conditions[kind]})`);
    // `is true` keeps the look-ups from being made joins.
    return wanted.length === 0 ? sql`false` : sql`(${sql.join(wanted, sql` or `)}) is true`;
  }
}

/** A crash of the server may have undone the mark of what was sent, and with it the count of the attempt. */
const lostMark = sql`(d.state = 'CLAIMED')::int`;

const WRITTEN = sql`d.id, d.state, d.reason, d.kind, d.source_id, d.environment_id`;

/** Looks each up by its keys in one value: there is no join that old statistics could lead astray. */
function writingRest(
  outcomes: readonly DeliveryOutcome[],
  isThere: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const byKeys = Object.fromEntries(
    outcomes.map((outcome) => [
      `${outcome.delivery.id}/${outcome.delivery.leaseToken}`,
      outcomeColumns(outcome),
    ]),
  );
  return sql`
      told as materialized (select ${JSON.stringify(byKeys)}::jsonb as outcomes), rest as (
        update messaging.deliveries d set (state, reason, last_error, attempt, next_attempt_at, possible_duplicate,
          due_since, provider_message_id, sent_at, finished_at) = (
          select o.state, o.reason, o.last_error, greatest(d.attempt + o.tried * ${lostMark} - o.uncounted, 0),
            greatest(o.next_attempt_at, d.next_attempt_at), o.possible_duplicate, coalesce(o.due_since, d.due_since),
            o.provider_message_id, case when o.state = 'SENT' then ${present} end,
            case when o.state <> 'DEFERRED' then ${present} end
          from told t cross join lateral jsonb_to_record(t.outcomes -> (d.id || '/' || d.lease_token)) as o(
            state text, reason text, last_error text, next_attempt_at timestamptz, due_since timestamptz,
            possible_duplicate boolean, provider_message_id text, tried int, uncounted int)
        ), ${unleased}, lease_epoch = null
        where ${isOneOf(deliveriesOf(outcomes), isThere)}
        returning ${WRITTEN}
      ),`;
}

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

/** The relay by which a delivery `d` goes: what may have arrived is handed to no other, so it is written before. */
function relayKeysOf(starting: readonly ClaimedDelivery[]): RawBuilder<unknown> {
  const byId = starting.flatMap(({ id, relayKey }) => (relayKey === null ? [] : [[id, relayKey] as const]));
  return byId.length === 0
    ? sql`null`
    : sql`${JSON.stringify(Object.fromEntries(byId))}::jsonb ->> d.id::text`;
}

/**
 * True for a delivery `d` that is one of these and has the lease of its own claim. Found by their ids, since a plan may read the
 * whole partition else, and compared with their leases as a set: `not in` is never made a join.
 */
function isOneOf(deliveries: readonly ClaimedDelivery[], isThere: RawBuilder<unknown>): RawBuilder<unknown> {
  const ids = uuids(deliveries.map(({ id }) => id));
  const tokens = uuids(deliveries.map(({ leaseToken }) => leaseToken));
  return sql`d.id = any(${ids}) and ${isThere}
    and ((d.id, d.lease_token) not in (
      select k.id, k.lease_token from unnest(${ids}, ${tokens}) as k(id, lease_token)
    )) is false`;
}

/**
 * True for a delivery `d` that is one of these, of one partition, and still this sender's. A token is made for each
 * claim, so one that it has from another claim of this sender is as good.
 */
function isHeld(scope: ProjectScope, deliveries: readonly ClaimedDelivery[]): RawBuilder<unknown> {
  const tokens = [...new Set(deliveries.map(({ leaseToken }) => leaseToken))];
  return sql`d.id = any(${uuids(deliveries.map(({ id }) => id))}) and d.environment_id = ${scope.environmentId}
    and ${isQueuedOn(deliveries[0]?.queuedOn ?? null)} and d.lease_token = any(${tokens}::uuid[])`;
}

/** True for a delivery `d` that was queued on that day; names the month for the planner: one partition, not all. */
function isQueuedOn(date: string | null): RawBuilder<unknown> {
  if (date === null) return sql`false`;
  const [year = 0, month = 0] = date.split('-').map(Number);
  const [from, to] = [0, 1].map((months) =>
    new Date(Date.UTC(year, month - 1 + months, 1)).toISOString().slice(0, 10),
  );
  return sql`d.queued_on = ${date}::date and d.queued_on >= ${sql.lit(from)}::date and d.queued_on < ${sql.lit(to)}::date`;
}

const uuids = (ids: readonly string[]) => sql`${`{${ids.join()}}`}::uuid[]`;

const deliveriesOf = (outcomes: readonly DeliveryOutcome[]) => outcomes.map(({ delivery }) => delivery);

/** True for an outcome by which the next hop refused a mail for good because of its address or its sender. */
const isReturned = ({ state, reason }: DeliveryOutcome): boolean =>
  state === 'FAILED' && reason !== null && RETURNED_CLASSES.includes(reason);

/** Outcomes that were written as returned, in the order of their addresses, in which all lock several. */
function returnedOf(outcomes: readonly DeliveryOutcome[], written: readonly ReturnedRow[]) {
  const classes = new Map(written.map(({ id, reason }) => [id, reason]));
  const returned = outcomes.flatMap(({ delivery }) => {
    const bounceClass = classes.get(delivery.id);
    const parsed = parseEmailAddress(delivery.address);
    return bounceClass !== undefined && 'address' in parsed
      ? [{ delivery, addressKey: parsed.address.key, bounceClass }]
      : [];
  });
  return returned.sort((a, b) => (a.addressKey < b.addressKey ? -1 : 1));
}
