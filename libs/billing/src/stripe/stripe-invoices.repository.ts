import { Injectable } from '@nestjs/common';
import { TenantsQuery } from '#access';
import { newId, NotFoundError } from '#kernel';
import type { InvoiceAmounts } from '../invoices/invoice-amounts.js';
import { InvoiceIssuing } from '../invoices/invoice-issuing.service.js';
import { InvoiceRepository } from '../invoices/invoice.repository.js';
import {
  type BillingReason,
  Invoice,
  type InvoiceLine,
  type InvoiceParty,
  type InvoiceStatus,
} from '../invoices/invoice.js';
import type { OpenSubscription } from '../subscriptions/subscription-effects.service.js';
import type { Subscription } from '../subscriptions/subscription.js';

/** An invoice as Stripe has it. */
export interface OutsideInvoice {
  readonly externalId: string;
  readonly status: InvoiceStatus;
  readonly reason: BillingReason;
  readonly currency: string;
  readonly lines: readonly InvoiceLine[];
  readonly taxCents: number;
  /** What the invoice itself says that it comes to. */
  readonly totalCents: number;
  readonly balanceCents: number;
  readonly creditedCents: number;
  readonly createdAt: Date;
  readonly issuedAt: Date;
  readonly dueAt: Date | null;
  readonly paidAt: Date | null;
}

/** Keeps our copies of Stripe's invoices, under our numbers. */
@Injectable()
export class StripeInvoices {
  constructor(
    private readonly invoices: InvoiceRepository,
    private readonly issuing: InvoiceIssuing,
    private readonly tenants: TenantsQuery,
  ) {}

  /** Makes our copy what the invoice is; once it is no longer a draft, it gets its number, its dates and its lines. */
  async save({ subscription, now }: OpenSubscription, outside: OutsideInvoice): Promise<void> {
    const tenant = await this.tenants.find(subscription.tenantId);
    if (tenant === null) throw new NotFoundError();
    const copy =
      (await this.invoices.lockCopy(outside.externalId)) ??
      this.#draft(subscription, subscription.buyerOf(tenant), outside, now);
    const isDraft = copy.status === 'DRAFT';
    copy.bill(amountsOf(outside));
    copy.reduce(outside);
    if (outside.status === 'DRAFT') return this.invoices.add(copy);
    if (isDraft) {
      const { issuedAt, dueAt } = outside;
      copy.issue(await this.issuing.nextNumber(tenant, issuedAt), issuedAt, dueAt ?? issuedAt);
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
    const { seller } = this.issuing;
    const about = { tenantId, subscriptionId, externalId, reason, currency, seller, buyer };
    return new Invoice({ publicId: newId(), ...about }, createdAt, now);
  }
}

/** Throws when lines and taxes do not come to the total: a copy that says something else than Stripe would be worse than none. */
function amountsOf({ externalId, lines, taxCents, totalCents }: OutsideInvoice): InvoiceAmounts {
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
