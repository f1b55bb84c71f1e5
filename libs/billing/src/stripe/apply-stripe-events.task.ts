import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { Clock, doublingBackoff } from '#kernel';
import { Database, describeError, leaseDue, LOGGER, PeriodicTask, present } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { StripeSync } from './stripe-sync.service.js';

const AT_ONCE = 100;
const MAX_ATTEMPTS = 12;
/** Some 14 s after the first: by then whoever begins a subscription has written its id down. */
const ATTEMPTS_UNTIL_STRAY = 4;
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
    private readonly database: Database,
    private readonly sync: StripeSync,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
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
      if (outcome === 'done') await this.#note(event, null);
      else if (outcome === 'unknown') await this.#note(event, 'It is about nothing that is known here.');
      else
        await this.#note(
          event,
          'It is about a subscription of our customer that is not known here.',
          outcome.strayOf,
        );
    } catch (error) {
      const fault = describeError(error);
      const { id: eventId, objectId, attempts } = event;
      if (attempts === 1 || attempts >= MAX_ATTEMPTS)
        this.logger.error(
          { eventId, objectId, attempts, error: fault },
          'an event of Stripe was not followed',
        );
      await this.#note(event, fault);
    }
  }

  async #note({ id, objectId, attempts }: OpenEvent, fault: string | null, strayOf?: number): Promise<void> {
    const isStray = strayOf !== undefined && attempts >= ATTEMPTS_UNTIL_STRAY;
    if (isStray && attempts === ATTEMPTS_UNTIL_STRAY) {
      const words =
        'Stripe bills a customer of ours for a subscription that is not known here: see check:stripe';
      this.logger.error({ eventId: id, objectId, tenantId: strayOf }, words);
    }
    const now = this.clock.now();
    const isOver = fault === null || attempts >= MAX_ATTEMPTS;
    const retryAt = new Date(now.getTime() + doublingBackoff(attempts, FIRST_RETRY_MS, LONGEST_RETRY_MS));
    await this.database.system(() =>
      this.database
        .tables<BillingTables>()
        .updateTable('billing.stripe_events')
        .set({
          lastError: fault,
          retryAt,
          processedAt: isOver ? now : null,
          strayTenantId: isStray ? strayOf : null,
        })
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
