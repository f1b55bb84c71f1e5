import { Inject, Injectable } from '@nestjs/common';
import type { Stripe } from 'stripe';
import { TenantsQuery } from '#access';
import { InvalidStateError, NotFoundError } from '#kernel';
import { InvoiceIssuing } from '../invoices/invoice-issuing.service.js';
import { SubscriptionAccounts } from '../subscriptions/subscription-accounts.service.js';
import {
  type ChangeOutcome,
  SubscriptionChanges,
  type WantedSubscription,
} from '../subscriptions/subscription-changes.service.js';
import type { OpenSubscription } from '../subscriptions/subscription-effects.service.js';
import type { Subscription } from '../subscriptions/subscription.js';
import { compareTerms, describeTerms, type Terms } from '../subscriptions/terms.js';
import { STRIPE } from './stripe-client.provider.js';
import { outsideState } from './stripe-mapping.js';
import { StripeSync } from './stripe-sync.service.js';

const DAY_S = 86_400;

/** Subscriptions that are paid through Stripe: it renews them, makes their invoices and takes the money. */
@Injectable()
export class StripeSubscriptions {
  constructor(
    @Inject(STRIPE) private readonly stripe: Stripe | null,
    @Inject(SubscriptionAccounts) private readonly accounts: SubscriptionAccounts,
    @Inject(SubscriptionChanges) private readonly changes: SubscriptionChanges,
    @Inject(InvoiceIssuing) private readonly issuing: InvoiceIssuing,
    @Inject(TenantsQuery) private readonly tenants: TenantsQuery,
    @Inject(StripeSync) private readonly sync: StripeSync,
  ) {}

  /**
   * Begins or changes a tenant's subscription at Stripe. Throws `DomainValidationError`, `InvalidStateError`, or
   * Stripe's own error, and then nothing of ours was changed.
   */
  async set(tenantId: number, wanted: WantedSubscription): Promise<ChangeOutcome> {
    const { stripe } = this;
    if (stripe === null) throw new Error('STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are not set.');
    const { outcome, invoiceId } = await this.accounts.change(tenantId, async (open) => {
      const terms = await this.changes.termsFor(open.account.state.terms, wanted);
      const { status, isRenewedElsewhere } = open.account.state;
      const isLive = isRenewedElsewhere && status !== 'CANCELLED' && status !== 'EXPIRED';
      const { externalId } = open.subscription;
      return isLive && externalId !== null
        ? this.#update(stripe, open, externalId, terms)
        : this.#create(stripe, open, terms, wanted.trialDays);
    });
    if (invoiceId !== null) await this.sync.sync(invoiceId);
    return outcome;
  }

  /** Ends it at Stripe: when the period is over, or at once. */
  async cancel(tenantId: number, when: 'at-period-end' | 'at-once', reason: string | null): Promise<void> {
    const { stripe } = this;
    await this.accounts.change(tenantId, async ({ account, subscription: { externalId }, now }) => {
      if (stripe === null || externalId === null) throw new NotFoundError();
      const subscription =
        when === 'at-once'
          ? await stripe.subscriptions.cancel(externalId)
          : await stripe.subscriptions.update(externalId, { cancel_at_period_end: true });
      account.cancel(when, reason, now);
      account.follow(outsideState(subscription), now);
    });
  }

  async #create(stripe: Stripe, open: OpenSubscription, terms: Terms, trialDays: number | undefined) {
    if (terms.priceCents === 0) {
      throw new InvalidStateError('What is free is not paid through Stripe.', terms.tier, [
        'STANDARD',
        'PRO',
      ]);
    }
    const { subscription: ours, account, now } = open;
    const customer = await this.#customer(stripe, ours);
    const trialEnd = trialDays === undefined ? null : Math.floor(now.getTime() / 1_000) + trialDays * DAY_S;
    const subscription = await stripe.subscriptions.create({
      customer,
      collection_method: 'send_invoice',
      days_until_due: this.issuing.paymentDays,
      items: [{ price_data: await priceData(stripe, terms) }],
      ...(trialEnd !== null && { trial_end: trialEnd }),
      metadata: { mailwright_tenant: String(ours.tenantId) },
    });
    ours.externalId = subscription.id;
    account.handOver(terms, outsideState(subscription), now);
    return { outcome: 'begun' as const, invoiceId: latestInvoice(subscription) };
  }

  async #update(stripe: Stripe, { account, now }: OpenSubscription, externalId: string, terms: Terms) {
    const current = account.state.terms;
    const more = compareTerms(current, terms);
    if (more === 0) return { outcome: 'unchanged' as const, invoiceId: null };
    if (terms.currency !== current.currency || (more < 0 && terms.interval !== current.interval)) {
      throw new InvalidStateError(
        'Stripe cannot go to another currency or a shorter interval: cancel at the period’s end and begin anew.',
        account.state.status,
        ['CANCELLED'],
      );
    }
    const [item] = (await stripe.subscriptions.retrieve(externalId)).items.data;
    if (item === undefined) throw new NotFoundError();
    const subscription = await stripe.subscriptions.update(externalId, {
      cancel_at_period_end: false,
      items: [{ id: item.id, price_data: await priceData(stripe, terms) }],
      // Less of it costs less from the next period on, and nothing is paid back.
      proration_behavior: more > 0 ? 'always_invoice' : 'none',
    });
    const outcome: 'at-once' | 'at-period-end' = more > 0 ? 'at-once' : 'at-period-end';
    account.note(terms, outcome);
    if (more > 0) account.follow(outsideState(subscription), now);
    return { outcome, invoiceId: more > 0 ? latestInvoice(subscription) : null };
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

function latestInvoice({ latest_invoice: invoice }: Stripe.Subscription): string | null {
  return typeof invoice === 'string' ? invoice : (invoice?.id ?? null);
}
