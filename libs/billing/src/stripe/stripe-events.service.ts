import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Stripe } from 'stripe';
import { type Config, CONFIG, Database } from '#platform';
import { STRIPE } from './stripe-client.provider.js';
import { moment } from './stripe-mapping.js';

const FOLLOWED = /^(?:customer\.subscription|invoice)\./;

/** Takes in what Stripe tells us of, once an event. */
@Injectable()
export class StripeEvents {
  constructor(
    @Inject(STRIPE) private readonly stripe: Stripe | null,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Database) private readonly database: Database,
  ) {}

  /** Whether Stripe is configured. */
  get isOn(): boolean {
    return this.stripe !== null && this.config.STRIPE_WEBHOOK_SECRET !== undefined;
  }

  /**
   * False when the signature over the raw body is not Stripe's, or older than five minutes. An event that was taken
   * before, or that is about something else, is taken without effect.
   */
  async receive(rawBody: Buffer, signature: string): Promise<boolean> {
    const event = this.#verified(rawBody, signature);
    if (event === null) return false;
    const { object } = event.data;
    if (!FOLLOWED.test(event.type) || !('id' in object) || typeof object.id !== 'string') return true;
    // A function by its definer's rights, since Stripe's request belongs to no tenant.
    await sql`
      select billing.receive_stripe_event(${event.id}, ${event.type}, ${object.id}, ${moment(event.created)})
    `.execute(this.database.unscopedTables());
    return true;
  }

  #verified(rawBody: Buffer, signature: string): Stripe.Event | null {
    const secret = this.config.STRIPE_WEBHOOK_SECRET;
    if (this.stripe === null || secret === undefined) return null;
    try {
      return this.stripe.webhooks.constructEvent(rawBody, signature, secret);
    } catch {
      return null;
    }
  }
}
