import { InvalidStateError } from '#kernel';
import type { InvoiceAmounts } from './invoice-amounts.js';

export const INVOICE_STATUSES = ['DRAFT', 'OPEN', 'PAID', 'UNCOLLECTIBLE', 'VOID'] as const;
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number];

export const BILLING_REASONS = [
  'subscription_create',
  'subscription_cycle',
  'subscription_update',
  'credits_purchase',
] as const;
export type BillingReason = (typeof BILLING_REASONS)[number];

/** Who sells or buys, as it stands on the invoice. */
export interface InvoiceParty {
  readonly name: string;
  /** Lines of the postal address, with line feeds between them. */
  readonly address: string | null;
  /** As the law wants it written, e.g. `VAT DE123456789`. */
  readonly taxId: string | null;
}

/** One line; amounts are minor units of the invoice's currency, below zero for what is given back. */
export interface InvoiceLine {
  readonly description: string;
  readonly amountCents: number;
  readonly periodStart: Date;
  readonly periodEnd: Date;
}

/** An invoice as its list shows it. */
export interface InvoiceSummary {
  readonly id: number;
  /** What signed links name. */
  readonly publicId: string;
  /** The payment provider's id. */
  readonly externalId: string | null;
  readonly status: InvoiceStatus;
  readonly billingReason: BillingReason;
  readonly currency: string;
  /** Tax included, in minor units. */
  readonly amountCents: number;
  /** `ACME-2026-000001`; null for a draft. */
  readonly invoiceNumber: string | null;
  readonly dueAt: Date | null;
  readonly paidAt: Date | null;
  readonly createdAt: Date;
}

/** A whole invoice as it is shown: subtotal = the sum of its lines, amount = subtotal + tax. */
export interface InvoiceDocument extends InvoiceSummary, InvoiceAmounts {
  readonly seller: InvoiceParty;
  readonly buyer: InvoiceParty;
  readonly issuedAt: Date | null;
  readonly lines: readonly InvoiceLine[];
  readonly balanceCents: number;
  readonly creditedCents: number;
}

/** What is left to pay, less what the customer's balance or credit notes took off; never below zero. */
export function dueCents(
  invoice: Pick<InvoiceDocument, 'amountCents' | 'balanceCents' | 'creditedCents'>,
): number {
  return Math.max(0, invoice.amountCents + invoice.balanceCents - invoice.creditedCents);
}

/** What an invoice is about, before it has a number. */
export interface InvoiceDraft {
  readonly publicId: string;
  readonly tenantId: number;
  readonly subscriptionId: number;
  /** The payment provider's id. */
  readonly externalId: string | null;
  readonly reason: BillingReason;
  readonly currency: string;
  readonly seller: InvoiceParty;
  readonly buyer: InvoiceParty;
}

/** Which invoice it is of a tenant's year. */
export interface InvoiceNumber {
  readonly year: number;
  readonly number: number;
  /** `ACME-2026-000001` */
  readonly text: string;
}

const UNPAID: readonly InvoiceStatus[] = ['OPEN', 'UNCOLLECTIBLE'];

/** What a tenant owes for a subscription. Once it has its number, what it is about never changes. */
export class Invoice {
  readonly id!: number;
  readonly publicId: string;
  readonly tenantId: number;
  readonly subscriptionId: number;
  readonly externalId: string | null;
  status: InvoiceStatus = 'DRAFT';
  readonly billingReason: BillingReason;
  readonly currency: string;
  subtotalCents = 0;
  taxRateBp = 0;
  taxCents = 0;
  amountCents = 0;
  /** The customer's balance at the provider that was applied: below zero is credit. */
  balanceCents = 0;
  /** Taken back by credit notes of the provider. */
  creditedCents = 0;
  numberYear: number | null = null;
  number: number | null = null;
  invoiceNumber: string | null = null;
  readonly seller: InvoiceParty;
  readonly buyer: InvoiceParty;
  issuedAt: Date | null = null;
  dueAt: Date | null = null;
  paidAt: Date | null = null;
  readonly createdAt: Date;
  updatedAt: Date;

  constructor(draft: InvoiceDraft, createdAt: Date, now = createdAt) {
    this.publicId = draft.publicId;
    this.tenantId = draft.tenantId;
    this.subscriptionId = draft.subscriptionId;
    this.externalId = draft.externalId;
    this.billingReason = draft.reason;
    this.currency = draft.currency;
    this.seller = draft.seller;
    this.buyer = draft.buyer;
    this.createdAt = createdAt;
    this.updatedAt = now;
  }

  /** What it comes to, while it is a draft. */
  bill(amounts: InvoiceAmounts): void {
    if (this.status === 'DRAFT') Object.assign(this, amounts);
  }

  /** What the provider took off it. */
  reduce({ balanceCents, creditedCents }: Pick<InvoiceDocument, 'balanceCents' | 'creditedCents'>): void {
    this.balanceCents = balanceCents;
    this.creditedCents = creditedCents;
  }

  /** A draft is open from now on, under its number. */
  issue({ year, number, text }: InvoiceNumber, issuedAt: Date, dueAt: Date): void {
    this.status = 'OPEN';
    this.numberYear = year;
    this.number = number;
    this.invoiceNumber = text;
    this.issuedAt = issuedAt;
    this.dueAt = dueAt;
  }

  /** The money has come. Throws `InvalidStateError`. */
  pay(now: Date): void {
    this.refuseUnlessUnpaid('pay');
    this.become('PAID', now);
  }

  /** It was a mistake; it keeps its number. Throws `InvalidStateError`. */
  void(now: Date): void {
    this.refuseUnlessUnpaid('void');
    this.become('VOID', now);
  }

  /** What the payment provider says of it. */
  become(status: InvoiceStatus, now: Date, paidAt: Date | null = now): void {
    this.status = status;
    this.paidAt = status === 'PAID' ? (paidAt ?? now) : null;
    this.updatedAt = now;
  }

  private refuseUnlessUnpaid(action: string): void {
    if (UNPAID.includes(this.status)) return;
    const message = `The invoice ${this.invoiceNumber} is ${this.status}: nobody can ${action} it.`;
    throw new InvalidStateError(message, this.status, UNPAID);
  }
}
