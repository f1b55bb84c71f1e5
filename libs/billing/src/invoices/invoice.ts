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
  /** To pay, tax included, in minor units. */
  readonly amountCents: number;
  /** `ACME-2026-000001`; null for a draft. */
  readonly invoiceNumber: string | null;
  readonly dueAt: Date | null;
  readonly paidAt: Date | null;
  readonly createdAt: Date;
}

/** A whole invoice: subtotal = the sum of its lines, amount = subtotal + tax. */
export interface Invoice extends InvoiceSummary {
  readonly subtotalCents: number;
  /** Hundredths of a percent: 2300 is 23 %. */
  readonly taxRateBp: number;
  readonly taxCents: number;
  readonly seller: InvoiceParty;
  readonly buyer: InvoiceParty;
  readonly issuedAt: Date | null;
  readonly lines: readonly InvoiceLine[];
}
