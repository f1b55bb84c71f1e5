import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database, describeError, PeriodicTask } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { StripeSync } from './stripe-sync.service.js';

const AT_ONCE = 100;
const MAX_ATTEMPTS = 12;
const FIRST_RETRY_MS = 2_000;
/** Stripe sends an event again for up to three days. */
const KEEP_MS = 30 * 86_400_000;

interface OpenEvent {
  readonly id: string;
  readonly objectId: string;
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
      select from billing.stripe_events
      where processed_at is null and retry_at <= ${this.clock.now()} or processed_at < ${before}
    )`;
    if (!(await this.database.holds(isAny))) return;
    for (const event of await this.#open()) await this.#apply(event);
    await this.#forget(before);
  }

  #open(): Promise<OpenEvent[]> {
    return this.database.system(() =>
      this.database
        .tables<BillingTables>()
        .selectFrom('billing.stripe_events')
        .select(['id', 'objectId', 'attempts'])
        .where('processedAt', 'is', null)
        .where('retryAt', '<=', this.clock.now())
        .orderBy('retryAt')
        .orderBy('occurredAt')
        .limit(AT_ONCE)
        .execute(),
    );
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
    const isOver = fault === null || attempts + 1 >= MAX_ATTEMPTS;
    const retryAt = new Date(now.getTime() + FIRST_RETRY_MS * 2 ** attempts);
    await this.database.system(() =>
      this.database
        .tables<BillingTables>()
        .updateTable('billing.stripe_events')
        .set(({ eb }) => ({
          attempts: eb('attempts', '+', 1),
          lastError: fault,
          retryAt,
          processedAt: isOver ? now : null,
        }))
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
