import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, doublingBackoff } from '#kernel';
import { Database, describeError, leaseDue, PeriodicTask, present } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { StripeSync } from './stripe-sync.service.js';

const AT_ONCE = 100;
const MAX_ATTEMPTS = 12;
const FIRST_RETRY_MS = 2_000;
const LONGEST_RETRY_MS = 4_096_000;
/** Longer than so many questions to Stripe take. */
const LEASE_MS = 60_000;
/** Stripe sends an event again for up to three days. */
const KEEP_MS = 30 * 86_400_000;

interface OpenEvent {
  readonly id: string;
  readonly objectId: string;
  readonly occurredAt: Date;
  /** This one included. */
  readonly attempts: number;
}

/** Follows up what Stripe told us of. An event that nobody can place is tried for some hours, then left. */
@Injectable()
export class ApplyStripeEvents extends PeriodicTask {
  override readonly name = 'apply-stripe-events';
  override readonly everyMs = 2_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(StripeSync) private readonly sync: StripeSync,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const before = new Date(this.clock.now().getTime() - KEEP_MS);
    // A template: it becomes part of a statement with what others ask at the same moment.
    const isAny = sql`exists (
      select 1 from billing.stripe_events
      where processed_at is null and retry_at <= ${present} or processed_at < ${before}
    )`;
    if (!(await this.database.holds(isAny))) return;
    for (const event of await this.#lease()) await this.#apply(event);
    await this.#forget(before);
  }

  /** In the order in which they happened. */
  #lease(): Promise<OpenEvent[]> {
    return this.database.system(async () => {
      const due = leaseDue({
        table: 'billing.stripe_events',
        key: 'id',
        due: 'retry_at',
        where: sql`processed_at is null`,
        limit: AT_ONCE,
        leaseMs: LEASE_MS,
        set: sql`, attempts = attempts + 1`,
      });
      const { rows } = await sql<OpenEvent>`${due} returning id, object_id, occurred_at, attempts`.execute(
        this.database.tables(),
      );
      return rows.toSorted((a, b) => a.occurredAt.getTime() - b.occurredAt.getTime());
    });
  }

  /** The object is looked at as it is now: to do it twice is to do it once. */
  async #apply(event: OpenEvent): Promise<void> {
    try {
      const outcome = await this.sync.sync(event.objectId);
      await this.#note(event, outcome === 'done' ? null : 'It is about nothing that is known here.');
    } catch (error) {
      await this.#note(event, describeError(error));
    }
  }

  async #note({ id, attempts }: OpenEvent, fault: string | null): Promise<void> {
    const now = this.clock.now();
    const isOver = fault === null || attempts >= MAX_ATTEMPTS;
    const retryAt = new Date(now.getTime() + doublingBackoff(attempts, FIRST_RETRY_MS, LONGEST_RETRY_MS));
    await this.database.system(() =>
      this.database
        .tables<BillingTables>()
        .updateTable('billing.stripe_events')
        .set({ lastError: fault, retryAt, processedAt: isOver ? now : null })
        .where('id', '=', id)
        .execute(),
    );
  }

  async #forget(before: Date): Promise<void> {
    await this.database.system(() =>
      this.database
        .tables<BillingTables>()
        .deleteFrom('billing.stripe_events')
        .where('processedAt', '<', before)
        .execute(),
    );
  }
}
