import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Stripe } from 'stripe';
import { z } from 'zod';
import { Clock, doublingBackoff } from '#kernel';
import {
  CONFIG,
  type Config,
  Database,
  describeError,
  leaseDue,
  LOGGER,
  Periodic,
  present,
  named,
} from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { STRIPE } from './stripe-client.provider.js';
import { moment } from './stripe-mapping.js';
import { StripeSyncService } from './stripe-sync.service.js';

const AT_ONCE = 100;
const MAX_ATTEMPTS = 12;
/** Attempts of some 14 s: the transaction that begins a subscription has ended by then. */
const ATTEMPTS_UNTIL_STRAY = 4;
const FIRST_RETRY_MS = 2_000;
const LONGEST_RETRY_MS = 4_096_000;
/** Longer than the requests of one batch take. */
const LEASE_MS = 60_000;
/** Stripe sends an event again for up to three days. */
const KEEP_MS = 30 * 86_400_000;
const OLDEST_S = 300;
const FOLLOWED = /^(?:customer\.subscription|invoice|credit_note)\./;

/** `foreign`: not signed by Stripe, or too old. `unreadable`: signed, and no snapshot of an object. */
export type StripeReceipt = 'taken' | 'foreign' | 'unreadable';

/** Receives Stripe's events, each of them once, and applies them. One about an unknown object is retried for some hours, then left. */
@Injectable()
export class StripeEventsService {
  constructor(
    @Inject(STRIPE) private readonly stripe: Stripe | null,
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    private readonly sync: StripeSyncService,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** True when Stripe is configured. */
  get isOn(): boolean {
    return this.stripe !== null && this.config.STRIPE_WEBHOOK_SECRET !== undefined;
  }

  /** Stores a signed event. A repeated event, or one about something else, is taken without effect. */
  async receive(rawBody: Buffer, signature: string): Promise<StripeReceipt> {
    if (!this.#isSigned(rawBody, signature)) return 'foreign';
    const event = readEvent(rawBody);
    if (event === null) return 'unreadable';
    const { object } = event.data;
    const objectId = event.type.startsWith('credit_note.') ? object.invoice : object.id;
    if (!FOLLOWED.test(event.type) || typeof objectId !== 'string') return 'taken';
    // A function with definer's rights: Stripe's request belongs to no tenant.
    await this.database.statement(
      'unscoped',
      sql`${named('receive_stripe_event')}
        select billing.receive_stripe_event(${event.id}, ${event.type}, ${objectId}, ${moment(event.created)})`,
    );
    return 'taken';
  }

  @Periodic('apply-stripe-events', { everyMs: 2_000 })
  async applyDue(): Promise<void> {
    const before = new Date(this.clock.now().getTime() - KEEP_MS);
    // A template: `holds` joins it with other checks in one statement.
    const isAny = sql`exists (
      select 1 from billing.stripe_events
      where processed_at is null and retry_at <= ${present} or processed_at < ${before}
    )`;
    if (!(await this.database.holds(isAny))) return;
    for (const event of await this.#lease()) await this.#apply(event);
    await this.#forget(before);
  }

  #isSigned(rawBody: Buffer, signature: string): boolean {
    const secret = this.config.STRIPE_WEBHOOK_SECRET;
    if (this.stripe === null || secret === undefined) return false;
    try {
      return this.stripe.webhooks.signature?.verifyHeader(rawBody, signature, secret, OLDEST_S) === true;
    } catch {
      return false;
    }
  }

  /** Leases due events, oldest first. */
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

  /** Syncs the object as it is now, so that a repeat is harmless. */
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

const snapshotEvent = z.object({
  id: z.string(),
  type: z.string(),
  created: z.number(),
  data: z.object({ object: z.record(z.string(), z.unknown()) }),
});

/** Null for an event without an object, such as a thin one (`v2.core.event`). */
function readEvent(rawBody: Buffer): z.output<typeof snapshotEvent> | null {
  try {
    return snapshotEvent.parse(JSON.parse(rawBody.toString()));
  } catch {
    return null;
  }
}

interface OpenEvent {
  readonly id: string;
  readonly objectId: string;
  readonly occurredAt: Date;
  /** Number of attempts, this one included. */
  readonly attempts: number;
}
