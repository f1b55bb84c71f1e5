import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { RecipientsQuery } from '#audience';
import { EmailQuota } from '#billing';
import type { ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import { countingSent } from '../tracking/campaign-counters.query.js';
import type { ClaimedDelivery } from './delivery.js';
import type { DeliveryOutcome } from './delivery-outcome.js';
import type { Lease } from './lease.js';
import { ReturnedDeliveries, returnedOf } from './returned-deliveries.service.js';

/** What one exchange writes: how attempts ended, and which deliveries go on the wire next. */
export interface JournalEntry {
  readonly outcomes: readonly DeliveryOutcome[];
  readonly starting: readonly ClaimedDelivery[];
  /** The period to settle against; null where e-mails are not counted. */
  readonly usagePeriod: Date | null;
}

interface WrittenOutcome {
  readonly id: string;
  readonly state: DeliveryOutcome['state'];
  readonly reason: string | null;
}

/**
 * Writes the engine's progress: all outcomes and all marks of an exchange in one transaction, one statement
 * each. Only rows whose lease is still this sender's are touched.
 */
@Injectable()
export class DeliveryJournal {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ReturnedDeliveries) private readonly returned: ReturnedDeliveries,
    @Inject(EmailQuota) private readonly quota: EmailQuota,
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
  ) {}

  /**
   * Resolves to the ids of `starting` that may be sent now: still leased, their campaign still sending, and still
   * wanted. A pause or an unsubscription that has been committed before counts.
   */
  write(scope: ProjectScope, entry: JournalEntry, lease: Lease, now: Date): Promise<ReadonlySet<string>> {
    return this.database.transaction(scope, async ({ db }) => {
      if (entry.outcomes.length > 0) await this.#record(scope, db, entry, lease, now);
      if (entry.starting.length === 0) return new Set<string>();
      const wanted = this.recipients.mayReceive(sql`d.subscriber_id`, sql`c.topic_ids`, now);
      return markSending(db, entry.starting, lease, wanted);
    });
  }

  /** Lengthens the lease on deliveries in hand. */
  async renew(scope: ProjectScope, deliveries: readonly ClaimedDelivery[], lease: Lease): Promise<void> {
    await this.database.transaction(scope, async ({ db }) => {
      await sql`
        update messaging.deliveries d set lease_until = ${lease.until} from ${keysOf(deliveries)}
        where d.id = k.id and d.queued_on = k.queued_on and d.lease_token = ${lease.token}
      `.execute(db);
    });
  }

  /** Gives back what was claimed and never put on a wire. */
  async release(scope: ProjectScope, deliveries: readonly ClaimedDelivery[], lease: Lease): Promise<void> {
    if (deliveries.length === 0) return;
    await this.database.transaction(scope, async ({ db }) => {
      await sql`
        update messaging.deliveries d set lease_token = null, lease_until = null,
          state = case when d.attempt = 0 then 'PENDING' else 'DEFERRED' end
        from ${keysOf(deliveries)}
        where d.id = k.id and d.queued_on = k.queued_on and d.lease_token = ${lease.token} and d.state = 'CLAIMED'
      `.execute(db);
    });
  }

  async #record(
    scope: ProjectScope,
    db: Sql,
    { outcomes, usagePeriod }: JournalEntry,
    lease: Lease,
    now: Date,
  ) {
    const written = await recordOutcomes(db, outcomes, lease, now);
    await this.returned.take(scope, db, returnedOf(outcomes, written), now);
    if (usagePeriod === null) return;
    const used = written.filter(({ state }) => state === 'SENT' || state === 'AMBIGUOUS').length;
    const released = written.filter(({ state }) => state === 'FAILED' || state === 'SKIPPED').length;
    if (used + released > 0) await this.quota.settle(scope, usagePeriod, { used, released });
  }
}

async function recordOutcomes(
  db: Sql,
  outcomes: readonly DeliveryOutcome[],
  lease: Lease,
  now: Date,
): Promise<WrittenOutcome[]> {
  const values = outcomes.map(({ delivery, ...outcome }) => ({
    id: delivery.id,
    queued_on: delivery.queuedOn,
    state: outcome.state,
    reason: outcome.reason,
    last_error: outcome.lastError,
    next_attempt_at: outcome.nextAttemptAt,
    possible_duplicate: outcome.possibleDuplicate,
    uncounted: outcome.uncounted ? 1 : 0,
  }));
  const { rows } = await sql<WrittenOutcome>`
    with written as (
    update messaging.deliveries d set state = o.state, reason = o.reason, last_error = o.last_error,
      attempt = greatest(d.attempt - o.uncounted, 0), next_attempt_at = coalesce(o.next_attempt_at, d.next_attempt_at),
      possible_duplicate = o.possible_duplicate,
      sent_at = case when o.state = 'SENT' then ${now}::timestamptz else d.sent_at end,
      finished_at = case when o.state = 'DEFERRED' then null else ${now}::timestamptz end,
      lease_token = null, lease_until = null
    from jsonb_to_recordset(${JSON.stringify(values)}::jsonb) as o(id uuid, queued_on date, state text, reason text,
      last_error text, next_attempt_at timestamptz, possible_duplicate boolean, uncounted int)
    where d.id = o.id and d.queued_on = o.queued_on and d.lease_token = ${lease.token}
    returning d.id, d.state, d.reason, d.kind, d.source_id, d.environment_id
    ), ${countingSent('written', now)}
    select id, state, reason from written
  `.execute(db);
  return rows;
}

async function markSending(
  db: Sql,
  starting: readonly ClaimedDelivery[],
  lease: Lease,
  wanted: RawBuilder<unknown>,
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`
    update messaging.deliveries d set state = 'SENDING', attempt = d.attempt + 1 from ${keysOf(starting)}
    where d.id = k.id and d.queued_on = k.queued_on and d.lease_token = ${lease.token} and d.state = 'CLAIMED'
      and (d.kind <> 'CAMPAIGN'
        or exists (select from messaging.campaigns c where c.id = d.source_id and c.status = 'SENDING' and ${wanted}))
    returning d.id
  `.execute(db);
  return new Set(rows.map(({ id }) => id));
}

function keysOf(deliveries: readonly ClaimedDelivery[]) {
  const keys = deliveries.map(({ id, queuedOn }) => ({ id, queued_on: queuedOn }));
  return sql`jsonb_to_recordset(${JSON.stringify(keys)}::jsonb) as k(id uuid, queued_on date)`;
}
