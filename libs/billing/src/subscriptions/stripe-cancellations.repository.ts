import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { doublingBackoff } from '#kernel';
import { Database, leaseDue, present } from '#platform';
import type { BillingTables } from '../billing-tables.js';

const AT_ONCE = 100;
const FIRST_RETRY_MS = 60_000;
const LONGEST_RETRY_MS = 6 * 3_600_000;
/** Longer than so many requests to Stripe take. */
const LEASE_MS = 60_000;

/** A subscription to be cancelled at Stripe. */
export interface StripeCancellation {
  readonly externalId: string;
  readonly tenantId: number;
  /** This one included. */
  readonly attempts: number;
}

/** Which subscriptions are to be cancelled at Stripe: an outbox, since Stripe may not answer when one expires. */
@Injectable()
export class StripeCancellations {
  constructor(private readonly database: Database) {}

  /** In the transaction in which it expires. */
  async request({ externalId, tenantId }: Omit<StripeCancellation, 'attempts'>, now: Date): Promise<void> {
    await this.#tables
      .insertInto('billing.stripe_cancellations')
      .values({ externalId, tenantId, requestedAt: now })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  /** Those whose time to be tried has come, some at a time: each is an attempt, whatever becomes of it. */
  async due(): Promise<StripeCancellation[]> {
    // A template: it becomes part of a statement with what others ask at the same moment.
    const isAny = sql`exists (select 1 from billing.stripe_cancellations where retry_at <= ${present})`;
    if (!(await this.database.holds(isAny))) return [];
    const due = leaseDue({
      table: 'billing.stripe_cancellations',
      key: 'external_id',
      due: 'retry_at',
      limit: AT_ONCE,
      leaseMs: LEASE_MS,
      set: sql`, attempts = attempts + 1`,
    });
    return this.database.system(async () => {
      const leased = sql<StripeCancellation>`${due} returning external_id, tenant_id, attempts`;
      return (await leased.execute(this.#tables)).rows;
    });
  }

  /** Those of `externalIds` that are still to be cancelled. */
  async waitingOf(externalIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (externalIds.length === 0) return new Set();
    const rows = await this.#tables
      .selectFrom('billing.stripe_cancellations')
      .select('externalId')
      .where('externalId', 'in', externalIds)
      .execute();
    return new Set(rows.map(({ externalId }) => externalId));
  }

  /** False when somebody else was faster. */
  async remove({ externalId }: StripeCancellation): Promise<boolean> {
    const { numDeletedRows } = await this.#tables
      .deleteFrom('billing.stripe_cancellations')
      .where('externalId', '=', externalId)
      .executeTakeFirstOrThrow();
    return numDeletedRows === 1n;
  }

  /** It is tried again: after a minute, then twice as long each time, up to six hours; for as long as it takes. */
  async postpone({ externalId, attempts }: StripeCancellation, fault: string, now: Date): Promise<void> {
    const retryAt = new Date(now.getTime() + doublingBackoff(attempts, FIRST_RETRY_MS, LONGEST_RETRY_MS));
    await this.database.system(() =>
      this.#tables
        .updateTable('billing.stripe_cancellations')
        .set({ retryAt, lastError: fault })
        .where('externalId', '=', externalId)
        .execute(),
    );
  }

  get #tables() {
    return this.database.tables<BillingTables>();
  }
}
