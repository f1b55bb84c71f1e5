import { Inject, Injectable } from '@nestjs/common';
import type { Stripe } from 'stripe';
import { TenantsQuery } from '#access';
import { NotFoundError } from '#kernel';
import { InvoiceIssuing } from '../invoices/invoice-issuing.service.js';
import type { Subscription } from '../subscriptions/subscription.js';
import { describeTerms, type Terms } from '../subscriptions/terms.js';
import { STRIPE } from './stripe-client.provider.js';

/** Begins, changes and ends subscriptions at Stripe. Throws Stripe's own errors, and an error when it is not configured. */
@Injectable()
export class StripeApi {
  constructor(
    @Inject(STRIPE) private readonly client: Stripe | null,
    @Inject(InvoiceIssuing) private readonly issuing: InvoiceIssuing,
    @Inject(TenantsQuery) private readonly tenants: TenantsQuery,
  ) {}

  /** Begins one, for a customer of its own, whose id `ours` keeps. `trialEnd` is in seconds. */
  async begin(ours: Subscription, terms: Terms, trialEnd: number | null): Promise<Stripe.Subscription> {
    const stripe = this.#stripe;
    return stripe.subscriptions.create({
      customer: await this.#customer(stripe, ours),
      collection_method: 'send_invoice',
      days_until_due: this.issuing.paymentDays,
      items: [{ price_data: await priceData(stripe, terms) }],
      ...(trialEnd !== null && { trial_end: trialEnd }),
      metadata: { mailwright_tenant: String(ours.tenantId) },
    });
  }

  /** Puts one on other terms. What is more is paid for at once. */
  async change(externalId: string, terms: Terms, isMore: boolean): Promise<Stripe.Subscription> {
    const stripe = this.#stripe;
    const [item] = (await stripe.subscriptions.retrieve(externalId)).items.data;
    if (item === undefined) throw new NotFoundError();
    return stripe.subscriptions.update(externalId, {
      cancel_at_period_end: false,
      items: [{ id: item.id, price_data: await priceData(stripe, terms) }],
      // Less of it costs less from the next period on, and nothing is paid back.
      proration_behavior: isMore ? 'always_invoice' : 'none',
    });
  }

  async cancel(externalId: string, when: 'at-period-end' | 'at-once'): Promise<Stripe.Subscription> {
    const { subscriptions } = this.#stripe;
    return when === 'at-once'
      ? subscriptions.cancel(externalId)
      : subscriptions.update(externalId, { cancel_at_period_end: true });
  }

  get #stripe(): Stripe {
    if (this.client === null) throw new Error('STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are not set.');
    return this.client;
  }

  async #customer(stripe: Stripe, subscription: Subscription): Promise<string> {
    if (subscription.externalCustomerId !== null) return subscription.externalCustomerId;
    const tenant = await this.tenants.find(subscription.tenantId);
    if (tenant === null) throw new NotFoundError();
    const customer = await stripe.customers.create(
      { name: subscription.buyerOf(tenant).name, metadata: { mailwright_tenant: tenant.tenantKey } },
      // Tried again, it is the same customer.
      { idempotencyKey: `mailwright-customer-${tenant.tenantKey}-${tenant.createdAt.getTime()}` },
    );
    subscription.externalCustomerId = customer.id;
    return customer.id;
  }
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
