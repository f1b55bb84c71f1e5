import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Stripe } from 'stripe';
import { z } from 'zod';
import { type Config, CONFIG, Database } from '#platform';
import { STRIPE } from './stripe-client.provider.js';
import { moment } from './stripe-mapping.js';

const FOLLOWED = /^(?:customer\.subscription|invoice|credit_note)\./;

/** `foreign`: not signed by Stripe, or too old. `unreadable`: signed, and no snapshot of an object. */
export type StripeReceipt = 'taken' | 'foreign' | 'unreadable';

/** Takes in what Stripe tells us of, once an event. */
@Injectable()
export class StripeEvents {
  constructor(
    @Inject(STRIPE) private readonly stripe: Stripe | null,
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
  ) {}

  /** Whether Stripe is configured. */
  get isOn(): boolean {
    return this.stripe !== null && this.config.STRIPE_WEBHOOK_SECRET !== undefined;
  }

  /** Keeps a signed event. One that was taken before, or that is about something else, is taken without effect. */
  async receive(rawBody: Buffer, signature: string): Promise<StripeReceipt> {
    if (!this.#isSigned(rawBody, signature)) return 'foreign';
    const event = readEvent(rawBody);
    if (event === null) return 'unreadable';
    const { object } = event.data;
    const objectId = event.type.startsWith('credit_note.') ? object.invoice : object.id;
    if (!FOLLOWED.test(event.type) || typeof objectId !== 'string') return 'taken';
    // A function by its definer's rights, since Stripe's request belongs to no tenant.
    await sql`
      select billing.receive_stripe_event(${event.id}, ${event.type}, ${objectId}, ${moment(event.created)})
    `.execute(this.database.unscopedTables());
    return 'taken';
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
}

const OLDEST_S = 300;

const snapshotEvent = z.object({
  id: z.string(),
  type: z.string(),
  created: z.number(),
  data: z.object({ object: z.record(z.string(), z.unknown()) }),
});

/** Null for what holds no object, such as a thin event (`v2.core.event`). */
function readEvent(rawBody: Buffer): z.output<typeof snapshotEvent> | null {
  try {
    return snapshotEvent.parse(JSON.parse(rawBody.toString()));
  } catch {
    return null;
  }
}
