import { Inject, Injectable } from '@nestjs/common';
import type { Stripe } from 'stripe';
import { TenantsService } from '#access';
import { newId, NotFoundError } from '#kernel';
import { Invoice, type InvoiceAmounts, type InvoiceParty } from '../invoices/invoice.js';
import { InvoiceRepository } from '../invoices/invoice.repository.js';
import { InvoicesService } from '../invoices/invoices.service.js';
import {
  type OpenSubscription,
  SubscriptionAccountsService,
} from '../subscriptions/subscription-accounts.service.js';
import type { Subscription } from '../subscriptions/subscription.js';
import { STRIPE, unlessGone } from './stripe-client.provider.js';
import {
  billingReason,
  invoiceLines,
  invoiceStatus,
  moment,
  momentOrNull,
  type OutsideInvoice,
  outsideState,
  sumOf,
} from './stripe-mapping.js';

/** Outcome of a sync: `unknown` is not ours, or not yet; `strayOf` is the tenant whose customer has it nevertheless. */
export type SyncOutcome = 'done' | 'unknown' | { readonly strayOf: number };

/**
 * Brings our rows to the state at Stripe. The object is fetched while our row is locked, so that of two syncs the later one
 * writes the later state, in whatever order Stripe's events came.
 */
@Injectable()
export class StripeSyncService {
  constructor(
    @Inject(STRIPE) private readonly stripe: Stripe | null,
    private readonly accounts: SubscriptionAccountsService,
    private readonly invoices: InvoiceRepository,
    private readonly invoicing: InvoicesService,
    private readonly tenants: TenantsService,
  ) {}

  /** Syncs a subscription or an invoice by Stripe's id. */
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
      await this.#saveCopy(open, await outsideInvoice(stripe, id));
      await this.accounts.settle(open);
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

  /** Updates our copy of an invoice. Once it is no longer a draft, it gets its number, dates and lines. */
  async #saveCopy({ subscription, now }: OpenSubscription, outside: OutsideInvoice): Promise<void> {
    const tenant = await this.tenants.find(subscription.tenantId);
    if (tenant === null) throw new NotFoundError();
    const copy =
      (await this.invoices.lockCopy(outside.externalId)) ??
      this.#draft(subscription, subscription.buyerOf(tenant), outside, now);
    const isDraft = copy.status === 'DRAFT';
    copy.bill(statedAmounts(outside));
    copy.reduce(outside);
    if (outside.status === 'DRAFT') return this.invoices.add(copy);
    if (isDraft) {
      const { issuedAt, dueAt } = outside;
      copy.issue(await this.invoicing.nextNumber(tenant, issuedAt), issuedAt, dueAt ?? issuedAt);
    }
    copy.become(outside.status, now, outside.paidAt);
    await this.invoices.add(copy, isDraft ? outside.lines : []);
  }

  #draft(
    { id: subscriptionId, tenantId }: Subscription,
    buyer: InvoiceParty,
    { externalId, reason, currency, createdAt }: OutsideInvoice,
    now: Date,
  ): Invoice {
    const { seller } = this.invoicing;
    const about = { tenantId, subscriptionId, externalId, reason, currency, seller, buyer };
    return new Invoice({ publicId: newId(), ...about }, createdAt, now);
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

/** Throws when lines and taxes do not add up to the total: a wrong copy would be worse than none. */
function statedAmounts({ externalId, lines, taxCents, totalCents }: OutsideInvoice): InvoiceAmounts {
  const subtotalCents = lines.reduce((sum, { amountCents }) => sum + amountCents, 0);
  const taxRateBp =
    subtotalCents <= 0 ? 0 : Math.min(10_000, Math.round((taxCents * 10_000) / subtotalCents));
  const amountCents = subtotalCents + taxCents;
  if (amountCents !== totalCents) {
    throw new Error(
      `The invoice ${externalId} at Stripe comes to ${totalCents}, its lines and taxes to ${amountCents}: it is not copied.`,
    );
  }
  return { subtotalCents, taxRateBp, taxCents, amountCents };
}
