import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Stripe } from 'stripe';
import { Clock, doublingBackoff } from '#kernel';
import { Database, describeError, forEachApart, leaseDue, Periodic, present } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { SubscriptionAccountsService } from '../subscriptions/subscription-accounts.service.js';
import { STRIPE, unlessGone } from './stripe-client.provider.js';

const AT_ONCE = 100;
const FIRST_RETRY_MS = 60_000;
const LONGEST_RETRY_MS = 6 * 3_600_000;
/** Longer than the requests of one batch take. */
const LEASE_MS = 60_000;

/** A subscription to be cancelled at Stripe. */
interface StripeCancellation {
  readonly externalId: string;
  readonly tenantId: number;
  /** Number of attempts, this one included. */
  readonly attempts: number;
}

/** Subscriptions to be cancelled at Stripe: a queue that `SubscriptionAccountsService` fills. */
@Injectable()
export class StripeCancellationsService {
  constructor(
    @Inject(STRIPE) private readonly stripe: Stripe | null,
    private readonly database: Database,
    private readonly accounts: SubscriptionAccountsService,
    private readonly clock: Clock,
  ) {}

  /** Cancels subscriptions at Stripe that expired here. One that was paid meanwhile goes on. */
  @Periodic('cancel-expired-at-stripe', { everyMs: 10_000 })
  async cancelExpired(): Promise<void> {
    const { stripe } = this;
    if (stripe === null) return;
    await forEachApart(
      await this.#lease(),
      async (cancellation) => {
        try {
          await this.#cancel(stripe, cancellation);
        } catch (error) {
          await this.#postpone(cancellation, describeError(error));
          throw error;
        }
      },
      'subscriptions were not cancelled at Stripe',
    );
  }

  /** The ones of `externalIds` still to be cancelled. */
  async waitingOf(externalIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (externalIds.length === 0) return new Set();
    const rows = await this.#tables
      .selectFrom('billing.stripe_cancellations')
      .select('externalId')
      .where('externalId', 'in', externalIds)
      .execute();
    return new Set(rows.map(({ externalId }) => externalId));
  }

  /** Cancels under the lock of our row, so that a payment comes either before or after it. */
  async #cancel(stripe: Stripe, cancellation: StripeCancellation): Promise<void> {
    await this.accounts.change(cancellation.tenantId, async ({ account, subscription }) => {
      if (!(await this.#remove(cancellation))) return;
      const isCurrent = subscription.externalId === cancellation.externalId;
      if (isCurrent && account.state.status !== 'EXPIRED') return;
      await unlessGone(stripe.subscriptions.cancel(cancellation.externalId));
      if (isCurrent) account.endElsewhere();
    });
  }

  /** Leases due cancellations, a batch at a time; each lease counts as an attempt. */
  async #lease(): Promise<StripeCancellation[]> {
    // A template: `holds` joins it with other checks in one statement.
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

  /** False when another process was faster. */
  async #remove({ externalId }: StripeCancellation): Promise<boolean> {
    const { numDeletedRows } = await this.#tables
      .deleteFrom('billing.stripe_cancellations')
      .where('externalId', '=', externalId)
      .executeTakeFirstOrThrow();
    return numDeletedRows === 1n;
  }

  /** Retries without end: after a minute, then twice as long each time, up to six hours. */
  async #postpone({ externalId, attempts }: StripeCancellation, fault: string): Promise<void> {
    const now = this.clock.now();
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
