import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Stripe } from 'stripe';
import { TenantsService } from '#access';
import { InvalidStateError, NotFoundError } from '#kernel';
import { InvoicesService } from '../invoices/invoices.service.js';
import type { Subscription } from '../subscriptions/subscription.js';
import { describeTerms, type Terms } from '../subscriptions/terms.js';
import { StripeCancellationsService } from './stripe-cancellations.service.js';
import { STRIPE } from './stripe-client.provider.js';

/** Begins, changes and ends subscriptions at Stripe. Throws Stripe's own errors, and an error when it is not configured. */
@Injectable()
export class StripeApiService {
  constructor(
    @Inject(STRIPE) private readonly client: Stripe | null,
    private readonly invoices: InvoicesService,
    private readonly tenants: TenantsService,
    private readonly cancellations: StripeCancellationsService,
  ) {}

  /**
   * Begins one for the customer of `ours`. An earlier attempt may have succeeded after its transaction had failed: that one is
   * taken over for the same terms, and refuses other terms (`InvalidStateError`).
   */
  async begin(ours: Subscription, terms: Terms, trialDays: number | undefined): Promise<Stripe.Subscription> {
    const stripe = this.#stripe;
    const customer = await this.customer(ours);
    const intent = intentOf(ours, terms, trialDays);
    const begun = await this.#begunBefore(customer, ours.externalId, intent);
    if (begun !== null) return begun;
    return stripe.subscriptions.create(
      {
        customer,
        collection_method: 'send_invoice',
        days_until_due: this.invoices.paymentDays,
        items: [{ price_data: await priceData(stripe, terms) }],
        ...(trialDays !== undefined && { trial_period_days: trialDays }),
        metadata: { mailwright_tenant: String(ours.tenantId), mailwright_intent: intent },
      },
      { idempotencyKey: `mailwright-subscription-${intent}` },
    );
  }

  /** Subscriptions of a customer that Stripe renews and that are neither `known` nor about to be cancelled. */
  async strays(customer: string, known: string | null): Promise<Stripe.Subscription[]> {
    const found: Stripe.Subscription[] = [];
    for await (const one of this.#stripe.subscriptions.list({ customer, limit: 100 })) found.push(one);
    const ending = await this.cancellations.waitingOf(found.map(({ id }) => id));
    return found.filter(({ id, status }) => id !== known && !ENDED.has(status) && !ending.has(id));
  }

  async #begunBefore(
    customer: string,
    known: string | null,
    intent: string,
  ): Promise<Stripe.Subscription | null> {
    const [stray] = await this.strays(customer, known);
    if (stray === undefined) return null;
    if (stray.metadata['mailwright_intent'] === intent) return stray;
    const message = `Stripe has the subscription ${stray.id} of this tenant, which is not known here: cancel it at Stripe first.`;
    throw new InvalidStateError(message, stray.status, [...ENDED]);
  }

  /** Changes the terms. More of something is paid for at once. */
  async change(externalId: string, terms: Terms, isMore: boolean): Promise<Stripe.Subscription> {
    const stripe = this.#stripe;
    const [item] = (await stripe.subscriptions.retrieve(externalId)).items.data;
    if (item === undefined) throw new NotFoundError();
    return stripe.subscriptions.update(externalId, {
      cancel_at_period_end: false,
      items: [{ id: item.id, price_data: await priceData(stripe, terms) }],
      // Less costs less from the next period on, and nothing is paid back.
      proration_behavior: isMore ? 'always_invoice' : 'none',
    });
  }

  async cancel(externalId: string, when: 'at-period-end' | 'at-once'): Promise<Stripe.Subscription> {
    const { subscriptions } = this.#stripe;
    return when === 'at-once'
      ? subscriptions.cancel(externalId)
      : subscriptions.update(externalId, { cancel_at_period_end: true });
  }

  /** True when Stripe is configured. */
  get isOn(): boolean {
    return this.client !== null;
  }

  get #stripe(): Stripe {
    if (this.client === null) throw new Error('STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are not set.');
    return this.client;
  }

  /** The id of the tenant's customer, created when there is none; `subscription` keeps it. */
  async customer(subscription: Subscription): Promise<string> {
    const stripe = this.#stripe;
    if (subscription.externalCustomerId !== null) return subscription.externalCustomerId;
    const tenant = await this.tenants.find(subscription.tenantId);
    if (tenant === null) throw new NotFoundError();
    const customer = await stripe.customers.create(
      { name: subscription.buyerOf(tenant).name, metadata: { mailwright_tenant: tenant.tenantKey } },
      // A retry creates no second customer.
      { idempotencyKey: `mailwright-customer-${tenant.tenantKey}-${tenant.createdAt.getTime()}` },
    );
    subscription.externalCustomerId = customer.id;
    return customer.id;
  }
}

const ENDED: ReadonlySet<string> = new Set(['canceled', 'incomplete_expired']);

/** Equal for repeated attempts to begin the same terms after the same subscription. */
function intentOf(
  { tenantId, externalId }: Subscription,
  terms: Terms,
  trialDays: number | undefined,
): string {
  const { planVersionId, aiCredits, interval, currency, priceCents } = terms;
  const wish = [
    tenantId,
    externalId,
    planVersionId,
    aiCredits,
    interval,
    currency,
    priceCents,
    trialDays ?? null,
  ];
  return createHash('sha256').update(JSON.stringify(wish)).digest('hex').slice(0, 40);
}

/** The price of the terms, under a product of their description. */
async function priceData(stripe: Stripe, terms: Terms) {
  const product = `mailwright_v${terms.planVersionId}_${terms.aiCredits}_${terms.interval.toLowerCase()}`;
  try {
    await stripe.products.create({ id: product, name: describeTerms(terms) });
  } catch (error) {
    const { errors } = (await import('stripe')).Stripe;
    const isThere =
      error instanceof errors.StripeInvalidRequestError && error.code === 'resource_already_exists';
    if (!isThere) throw error;
  }
  return {
    currency: terms.currency.toLowerCase(),
    product,
    recurring: { interval: terms.interval === 'MONTHLY' ? ('month' as const) : ('year' as const) },
    unit_amount: terms.priceCents,
  };
}
