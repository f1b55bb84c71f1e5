import { InvalidStateError } from '#kernel';

export const INVOICE_STATUSES = ['DRAFT', 'OPEN', 'PAID', 'UNCOLLECTIBLE', 'VOID'] as const;
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number];

export const BILLING_REASONS = [
  'subscription_create',
  'subscription_cycle',
  'subscription_update',
  'credits_purchase',
] as const;
export type BillingReason = (typeof BILLING_REASONS)[number];

/** Seller or buyer, as printed on the invoice. */
export interface InvoiceParty {
  readonly name: string;
  /** Lines of the postal address, with line feeds between them. */
  readonly address: string | null;
  /** In the form that the law requires, e.g. `VAT DE123456789`. */
  readonly taxId: string | null;
}

/** One line; amounts are minor units of the invoice's currency, below zero for a credit. */
export interface InvoiceLine {
  readonly description: string;
  readonly amountCents: number;
  readonly periodStart: Date;
  readonly periodEnd: Date;
}

/** An invoice as its list shows it. */
export interface InvoiceSummary {
  readonly id: number;
  /** Its id in signed links. */
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

export interface InvoiceAmounts {
  readonly subtotalCents: number;
  /** Hundredths of a percent: 2300 is 23 %. */
  readonly taxRateBp: number;
  readonly taxCents: number;
  readonly amountCents: number;
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

/** The amount less the customer's balance and credit notes; never below zero. */
export function dueCents(
  invoice: Pick<InvoiceDocument, 'amountCents' | 'balanceCents' | 'creditedCents'>,
): number {
  return Math.max(0, invoice.amountCents + invoice.balanceCents - invoice.creditedCents);
}

/** The parties and the reason of an invoice that has no number yet. */
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

/** Place of an invoice in a tenant's year. */
export interface InvoiceNumber {
  readonly year: number;
  readonly number: number;
  /** `ACME-2026-000001` */
  readonly text: string;
}

/** `ACME-2026-000001`: tenant, year (UTC), number in that year. */
export function invoiceNumber(tenantKey: string, year: number, number: number): string {
  return `${tenantKey}-${year}-${String(number).padStart(6, '0')}`;
}

/** The sums of an invoice; the tax is rounded once, half to even. Throws `RangeError` for a subtotal below zero. */
export function amountsOf(
  lines: readonly { readonly amountCents: number }[],
  taxRateBp: number,
): InvoiceAmounts {
  const subtotalCents = lines.reduce((sum, { amountCents }) => sum + amountCents, 0);
  if (subtotalCents < 0) throw new RangeError('The subtotal of an invoice must not be below zero.');
  const taxCents = share(subtotalCents, taxRateBp, 10_000);
  return { subtotalCents, taxRateBp, taxCents, amountCents: subtotalCents + taxCents };
}

/** `amount` (whole, 0 or more) × part ∕ whole, rounded half to even, so that many roundings do not add up. */
export function share(amount: number, part: number, whole: number): number {
  const [dividend, divisor] = [BigInt(amount) * BigInt(part), BigInt(whole)];
  const quotient = dividend / divisor;
  const twice = (dividend % divisor) * 2n;
  const up = twice > divisor || (twice === divisor && quotient % 2n === 1n);
  return Number(up ? quotient + 1n : quotient);
}

const UNPAID: readonly InvoiceStatus[] = ['OPEN', 'UNCOLLECTIBLE'];

/** A tenant's debt for a subscription. Once it has its number, only its status changes. */
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
  /** Sum of the provider's credit notes. */
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

  /** Sets the amounts of a draft; no effect later. */
  bill(amounts: InvoiceAmounts): void {
    if (this.status === 'DRAFT') Object.assign(this, amounts);
  }

  /** Notes the reductions of the payment provider. */
  reduce({ balanceCents, creditedCents }: Pick<InvoiceDocument, 'balanceCents' | 'creditedCents'>): void {
    this.balanceCents = balanceCents;
    this.creditedCents = creditedCents;
  }

  /** Opens a draft under its number. */
  issue({ year, number, text }: InvoiceNumber, issuedAt: Date, dueAt: Date): void {
    this.status = 'OPEN';
    this.numberYear = year;
    this.number = number;
    this.invoiceNumber = text;
    this.issuedAt = issuedAt;
    this.dueAt = dueAt;
  }

  /** Throws `InvalidStateError` unless it is unpaid. */
  pay(now: Date): void {
    this.refuseUnlessUnpaid('pay');
    this.become('PAID', now);
  }

  /** Ends a mistaken invoice, which keeps its number. Throws `InvalidStateError` unless it is unpaid. */
  void(now: Date): void {
    this.refuseUnlessUnpaid('void');
    this.become('VOID', now);
  }

  /** Takes over a status, also from the payment provider. */
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
