import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { RecipientsQuery } from '#audience';
import { EmailQuotaService } from '#billing';
import { CONSEQUENCES } from '#deliverability';
import { parseEmailAddress, type ProjectScope, type PublishedEventType } from '#kernel';
import { Database, named, presentAnd, unleased } from '#platform';
import type { ClaimedDelivery } from '../../deliveries/delivery.js';
import { isQueuedOn } from '../../deliveries/delivery-queue.query.js';
import { AddressConsequencesService } from '../../engagement/address-consequences.service.js';
import { addFeedback } from '../../engagement/campaign-counters.repository.js';
import { MailPublisherService, type PublishedDeliveries } from '../../engagement/mail-publisher.service.js';
import { BOUNCES, MessageOutcomesService } from '../../engagement/message-outcomes.service.js';
import type { DeliveryOutcome } from '../delivery-outcome.js';
import { epochOf, LEASE_MS } from './delivery-claims.query.js';
import {
  type FailedRow,
  type OutcomeBatch,
  outcomeBatch,
  RETURNED_CLASSES,
  uuids,
} from './outcome-batch.query.js';

/** A batch to write. */
interface WriteBatch extends OutcomeBatch {
  /** Waits until it outlasts a crash of the server. */
  readonly flushed: boolean;
}

/** The result of an outcome batch. */
interface WrittenBatch {
  /** The ids of `starting` that may be sent now. */
  readonly marked: ReadonlySet<string>;
  /** The epoch in which it was written: see `messaging.server_epoch`. */
  readonly epoch: number;
}

/** Writes the engine's progress: an outcome batch in one statement. Only rows whose lease is still this sender's are touched. */
@Injectable()
export class DeliveryStoreRepository {
  constructor(
    private readonly database: Database,
    private readonly quota: EmailQuotaService,
    private readonly recipients: RecipientsQuery,
    private readonly publisher: MailPublisherService,
    private readonly addresses: AddressConsequencesService,
    private readonly messages: MessageOutcomesService,
  ) {}

  /**
   * Records outcomes, and marks those of `starting` that may be sent now: still leased, their campaign still sending, and still
   * wanted. A pause or an unsubscription that has been committed before counts.
   */
  async write(scope: ProjectScope, batch: WriteBatch, now: Date): Promise<WrittenBatch> {
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
    if (outcomes.some((outcome) => isReturned(outcome) || isOfMessage(outcome))) return true;
    const isHeard = (state: DeliveryOutcome['state'], type: PublishedEventType) =>
      this.publisher.hasListeners(scope, type) && outcomes.some((outcome) => outcome.state === state);
    return isHeard('SENT', 'email.sent') || isHeard('FAILED', 'email.failed');
  }

  async #writeBatch(scope: ProjectScope, batch: WriteBatch, now: Date): Promise<WrittenBatch> {
    const statement = this.#statementOf(scope, batch, now, false);
    const [row] = await this.database.statement(scope, statement, { flushed: batch.flushed });
    if (row === undefined) throw new Error('PostgreSQL returned no row for the outcome batch.');
    return { marked: new Set(row.marked === '' ? [] : row.marked.split(',')), epoch: row.epoch };
  }

  async #writeWithConsequences(scope: ProjectScope, batch: WriteBatch, now: Date): Promise<void> {
    await this.database.transaction(scope, async () => {
      const returnsSent = this.publisher.hasListeners(scope, 'email.sent');
      const { rows } = await this.#statementOf(scope, batch, now, returnsSent).execute(
        this.database.tables(),
      );
      const { failed, sent } = rows[0] ?? { failed: [], sent: '' };
      const queuedOn = batch.outcomes[0]?.delivery.queuedOn ?? '';
      const where = { environmentId: scope.environmentId, queuedOn };
      if (sent !== '') await this.publisher.sent({ ...where, ids: sent.split(',') });
      await this.#publishFailed(where, failed);
      await this.#followReturned(scope, returnedOf(batch.outcomes, failed), now);
      const ofMessages = batch.outcomes.filter(isOfMessage).map(({ delivery }) => delivery.id);
      if (ofMessages.length > 0) await this.messages.settle(scope, ofMessages);
    });
  }

  /** Addresses that were refused bounced; all else that was given up failed. */
  async #publishFailed(where: Omit<PublishedDeliveries, 'ids'>, failed: readonly FailedRow[]): Promise<void> {
    const bounceOf = ({ reason }: FailedRow) => BOUNCES.find((bounceClass) => bounceClass === reason) ?? null;
    for (const [bounceClass, ofOne] of Map.groupBy(failed, bounceOf)) {
      const deliveries = { ...where, ids: ofOne.map(({ id }) => id) };
      if (bounceClass === null) await this.publisher.failed(deliveries);
      else await this.publisher.bounced(deliveries, bounceClass);
    }
  }

  /** Counts refusals, by which a project's sending and its domain are judged, after it locked addresses, as everywhere. */
  async #followReturned(
    scope: ProjectScope,
    returned: ReturnType<typeof returnedOf>,
    finishedAt: Date,
  ): Promise<void> {
    const { environmentId } = scope;
    const minutes = returned.flatMap(({ delivery: { kind, sourceId: campaignId }, bounceClass }) => {
      const { stops } = CONSEQUENCES[bounceClass];
      if (stops === null || kind !== 'CAMPAIGN') return [];
      const counted = stops === 'project' ? { hardRefused: 1 } : { senderRefused: 1 };
      return [{ campaignId, environmentId, at: finishedAt, ...counted }];
    });
    await this.addresses.follow(
      scope,
      returned.map(({ delivery, addressKey, bounceClass: failure }) => {
        const { id: deliveryId, kind, subscriberId, address } = delivery;
        return { deliveryId, kind, subscriberId, address, addressKey, finishedAt, failure };
      }),
    );
    await addFeedback(this.database, { minutes });
  }

  #statementOf(scope: ProjectScope, batch: OutcomeBatch, now: Date, returnsSent: boolean) {
    const { recipients, quota } = this;
    return outcomeBatch(scope, batch, { now, returnsSent }, { recipients, quota });
  }
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

/** True for an outcome by which the next hop refused a mail for good because of its address or its sender. */
const isReturned = ({ state, reason }: DeliveryOutcome): boolean =>
  state === 'FAILED' && RETURNED_CLASSES.some((each) => each === reason);

/** True for an outcome that ends a mail of a message, which tells it. */
const isOfMessage = ({ state, delivery: { kind } }: DeliveryOutcome): boolean =>
  kind === 'MESSAGE' && state !== 'DEFERRED';

/** Outcomes that were written as returned. */
function returnedOf(outcomes: readonly DeliveryOutcome[], written: readonly FailedRow[]) {
  const reasons = new Map(written.map(({ id, reason }) => [id, reason]));
  return outcomes.flatMap(({ delivery }) => {
    const reason = reasons.get(delivery.id);
    const bounceClass = RETURNED_CLASSES.find((each) => each === reason);
    const parsed = parseEmailAddress(delivery.address);
    return bounceClass !== undefined && 'address' in parsed
      ? [{ delivery, addressKey: parsed.address.key, bounceClass }]
      : [];
  });
}
