import { Injectable } from '@nestjs/common';
import { Database } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { StripeApi } from './stripe-api.service.js';

/** Something that Stripe bills a tenant for and that Mailwright does not know. */
export interface StripeStray {
  readonly tenantId: number;
  /** Stripe's id of the subscription or the invoice. */
  readonly objectId: string;
  /** `told`: by an event; `found`: among the customer's subscriptions. */
  readonly source: 'told' | 'found';
}

/** Compares what Stripe has of our customers with what is known here. */
@Injectable()
export class StripeCheckQuery {
  constructor(
    private readonly database: Database,
    private readonly stripe: StripeApi,
  ) {}

  /** Asks Stripe once for each tenant that is a customer; without a key only events are looked at. Throws Stripe's errors. */
  async strays(): Promise<StripeStray[]> {
    const { told, customers } = await this.database.system(async () => ({
      told: await this.#told(),
      customers: await this.#customers(),
    }));
    const strays: StripeStray[] = told.map((stray) => ({ ...stray, source: 'told' }));
    if (!this.stripe.isOn) return strays;
    for (const { tenantId, externalCustomerId, externalId } of customers) {
      const found = await this.database.system(() => this.stripe.strays(externalCustomerId, externalId));
      strays.push(...found.map(({ id }) => ({ tenantId, objectId: id, source: 'found' as const })));
    }
    return strays;
  }

  #told() {
    return this.database
      .tables<BillingTables>()
      .selectFrom('billing.stripe_events')
      .select(['strayTenantId as tenantId', 'objectId'])
      .distinct()
      .where('strayTenantId', 'is not', null)
      .orderBy('strayTenantId')
      .orderBy('objectId')
      .$narrowType<{ tenantId: number }>()
      .execute();
  }

  #customers() {
    return this.database
      .tables<BillingTables>()
      .selectFrom('billing.subscriptions')
      .select(['tenantId', 'externalCustomerId', 'externalId'])
      .where('externalCustomerId', 'is not', null)
      .orderBy('tenantId')
      .$narrowType<{ externalCustomerId: string }>()
      .execute();
  }
}
