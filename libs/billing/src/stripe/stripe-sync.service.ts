import { Inject, Injectable } from '@nestjs/common';
import type { Stripe } from 'stripe';
import { InvoiceRepository } from '../invoices/invoice.repository.js';
import { settle } from '../subscriptions/invoice-payments.service.js';
import { SubscriptionAccounts } from '../subscriptions/subscription-accounts.service.js';
import type { OpenSubscription } from '../subscriptions/subscription-effects.service.js';
import { STRIPE } from './stripe-client.provider.js';
import { unlessGone } from './stripe-api.service.js';
import { type OutsideInvoice, StripeInvoices } from './stripe-invoices.repository.js';
import {
  billingReason,
  invoiceLines,
  invoiceStatus,
  moment,
  momentOrNull,
  outsideState,
  sumOf,
} from './stripe-mapping.js';

/** What became of one look: `unknown` is not ours, or not yet; `strayOf` is the tenant whose customer has it nevertheless. */
export type SyncOutcome = 'done' | 'unknown' | { readonly strayOf: number };

/**
 * Brings our rows to what Stripe has. The object is fetched while our row is locked, so that of two at once the
 * later one writes the later state, in whatever order Stripe's events came.
 */
@Injectable()
export class StripeSync {
  constructor(
    @Inject(STRIPE) private readonly stripe: Stripe | null,
    private readonly accounts: SubscriptionAccounts,
    private readonly invoices: InvoiceRepository,
    private readonly copies: StripeInvoices,
  ) {}

  /** By the id of a subscription or an invoice of Stripe’s. */
  async sync(objectId: string): Promise<SyncOutcome> {
    return objectId.startsWith('in_') ? this.#syncInvoice(objectId) : this.#syncSubscription(objectId);
  }

  async #syncSubscription(id: string): Promise<SyncOutcome> {
    const outcome = await this.#change(id, async (stripe, { account, now }) => {
      account.follow(outsideState(await stripe.subscriptions.retrieve(id)), now);
    });
    if (outcome === 'done' || this.stripe === null) return outcome;
    const subscription = await unlessGone(this.stripe.subscriptions.retrieve(id));
    return this.#unknown(subscription?.customer ?? null);
  }

  async #syncInvoice(id: string): Promise<SyncOutcome> {
    if (this.stripe === null) return 'unknown';
    const invoice = await this.stripe.invoices.retrieve(id);
    const subscriptionId = subscriptionOf(invoice);
    if (subscriptionId === null) return this.#unknown(invoice.customer);
    const outcome = await this.#change(subscriptionId, async (stripe, open) => {
      await this.copies.save(open, await outsideInvoice(stripe, id));
      await settle(open, this.invoices);
    });
    return outcome === 'done' ? outcome : this.#unknown(invoice.customer);
  }

  async #unknown(customer: string | { readonly id: string } | null): Promise<SyncOutcome> {
    const id = typeof customer === 'string' ? customer : customer?.id;
    const strayOf = id === undefined ? null : await this.accounts.tenantOfCustomer(id);
    return strayOf === null ? 'unknown' : { strayOf };
  }

  async #change(
    subscriptionId: string,
    work: (stripe: Stripe, open: OpenSubscription) => Promise<void>,
  ): Promise<SyncOutcome> {
    const { stripe } = this;
    if (stripe === null) return 'unknown';
    const isOurs = await this.accounts.changeExternal(subscriptionId, (open) => work(stripe, open));
    return isOurs ? 'done' : 'unknown';
  }
}

function subscriptionOf({ parent }: Stripe.Invoice): string | null {
  const subscription = parent?.subscription_details?.subscription ?? null;
  return typeof subscription === 'string' ? subscription : (subscription?.id ?? null);
}

async function outsideInvoice(stripe: Stripe, id: string): Promise<OutsideInvoice> {
  const invoice = await stripe.invoices.retrieve(id);
  const lines: Stripe.InvoiceLineItem[] = [];
  for await (const line of stripe.invoices.listLineItems(id, { limit: 100 })) lines.push(line);
  const { finalized_at: finalizedAt, paid_at: paidAt } = invoice.status_transitions;
  return {
    externalId: id,
    status: invoiceStatus(invoice.status),
    reason: billingReason(invoice.billing_reason),
    currency: invoice.currency.toUpperCase(),
    lines: invoiceLines(
      lines,
      sumOf(invoice.total_discount_amounts) +
        sumOf(invoice.total_pretax_credit_amounts) -
        invoice.amount_shipping,
    ),
    taxCents: sumOf(invoice.total_taxes),
    totalCents: invoice.total,
    balanceCents: invoice.ending_balance === null ? 0 : invoice.starting_balance - invoice.ending_balance,
    creditedCents: invoice.pre_payment_credit_notes_amount + invoice.post_payment_credit_notes_amount,
    createdAt: moment(invoice.created),
    issuedAt: moment(finalizedAt ?? invoice.created),
    dueAt: momentOrNull(invoice.due_date),
    paidAt: momentOrNull(paidAt),
  };
}
