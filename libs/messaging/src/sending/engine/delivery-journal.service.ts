import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { RecipientsQuery } from '#audience';
import { EmailQuotaService } from '#billing';
import { CONSEQUENCES } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { Database, environmentOf, presentAnd, unleased } from '#platform';
import { MailPublisher, type PublishedDeliveries } from '../../engagement/mail-publisher.service.js';
import type { ClaimedDelivery } from '../../deliveries/delivery.js';
import { isHeld, type OutcomeBatch, outcomeBatchStatement } from './outcome-batch.query.js';
import { isReturned, ReturnedDeliveries, type ReturnedRow } from './returned-deliveries.service.js';
import { LEASE_MS } from './lease.js';
import { epochOf } from './server-epoch.query.js';

/** The topic of an automation's mail, of a version called `v`, as `uuid[]`. */
const TOPIC_OF_STEP = sql`array[v.mail_topic_ids[messaging.place_of_step(d.source_id) + 1]]`;

/** What an outcome batch came to. */
export interface WrittenBatch {
  /** The ids of `starting` that may be sent now. */
  readonly marked: ReadonlySet<string>;
  /** The epoch in which it was written: see `messaging.server_epoch`. */
  readonly epoch: number;
}

/**
 * Writes the engine's progress: an outcome batch in one statement. Only rows whose lease is
 * still this sender's are touched.
 */
@Injectable()
export class DeliveryJournal {
  constructor(
    private readonly database: Database,
    private readonly returned: ReturnedDeliveries,
    private readonly quota: EmailQuotaService,
    private readonly recipients: RecipientsQuery,
    private readonly publisher: MailPublisher,
  ) {}

  /**
   * Marks those of `starting` that may be sent now: still leased, their campaign still sending, and still wanted. A
   * pause or an unsubscription that has been committed before counts. All of the batch lies in one partition.
   */
  async write(scope: ProjectScope, batch: OutcomeBatch, now: Date): Promise<WrittenBatch> {
    if (!this.#hasConsequences(scope, batch)) return this.#writeBatch(scope, batch, now);
    await this.#record(scope, { ...batch, starting: [] }, now);
    return this.#writeBatch(scope, { ...batch, outcomes: [] }, now);
  }

  /** The present epoch of the server that has the environment's rows. */
  async epoch(scope: ProjectScope): Promise<number> {
    const [row] = await this.database.statement(
      scope,
      sql<{ readonly epoch: number }>`select ${epochOf(scope)} as epoch`,
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
      sql`
        select pg_logical_emit_message(true, 'mailwright', '') from messaging.server_epoch e
        where e.environment_id = ${environmentOf(scope)}
      `,
    );
  }

  async #writeBatch(scope: ProjectScope, batch: OutcomeBatch, now: Date): Promise<WrittenBatch> {
    const statement = this.#statementOf(scope, batch, now, false);
    const [row] = await this.database.statement(scope, statement, { flushed: batch.flushed });
    if (row === undefined) throw new Error('PostgreSQL returned no row for the outcome batch.');
    return { marked: new Set(row.marked === '' ? [] : row.marked.split(',')), epoch: row.epoch };
  }

  #statementOf(scope: ProjectScope, batch: OutcomeBatch, now: Date, tells: boolean) {
    const wanted = {
      ofCampaign: this.recipients.mayReceive(scope, sql`d.subscriber_id`, sql`c.topic_ids`, now),
      ofAutomation: this.recipients.mayReceive(scope, sql`d.subscriber_id`, TOPIC_OF_STEP, now),
    };
    return outcomeBatchStatement(scope, batch, {
      tells,
      wanted,
      settle: (change) => this.quota.settling(scope, change.period, change),
    });
  }

  /**
   * Lengthens the lease on deliveries in hand, all of one partition. It waits for no outcome batch, which may wait for it: what one
   * writes just now is left to the next renewal.
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

  /** Whether more follows from the outcomes: then they are written in a transaction with it. */
  #hasConsequences(scope: ProjectScope, { outcomes }: OutcomeBatch): boolean {
    if (outcomes.some(isReturned)) return true;
    return this.publisher.hasDeliveredListeners(scope) && outcomes.some(({ state }) => state === 'SENT');
  }

  async #record(scope: ProjectScope, batch: OutcomeBatch, now: Date): Promise<void> {
    await this.database.transaction(scope, async () => {
      const tells = this.publisher.hasDeliveredListeners(scope);
      const { rows } = await this.#statementOf(scope, batch, now, tells).execute(this.database.tables());
      const { returned, sent } = rows[0] ?? { returned: [], sent: '' };
      const queuedOn = batch.outcomes[0]?.delivery.queuedOn ?? '';
      const { environmentId } = scope;
      if (sent !== '') await this.publisher.delivered({ environmentId, ids: sent.split(','), queuedOn });
      await this.#publishBounces(returned, { environmentId, queuedOn });
      await this.returned.take(scope, batch.outcomes, returned, now);
    });
  }

  async #publishBounces(
    returned: readonly ReturnedRow[],
    where: Omit<PublishedDeliveries, 'ids'>,
  ): Promise<void> {
    for (const [bounceClass, ofOne] of Map.groupBy(returned, ({ reason }) => reason))
      if (CONSEQUENCES[bounceClass].address !== 'keep')
        await this.publisher.bounced({ ...where, ids: ofOne.map(({ id }) => id) }, bounceClass);
  }
}
