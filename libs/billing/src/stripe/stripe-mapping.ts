import type { BillingReason, InvoiceLine, InvoiceStatus } from '../invoices/invoice.js';
import type { OutsideState } from '../subscriptions/subscription-account.js';

/** The parts of Stripe's subscription that we follow; times are seconds. */
export interface StripeSubscription {
  readonly status: string;
  readonly cancel_at_period_end: boolean;
  readonly canceled_at: number | null;
  readonly ended_at: number | null;
  readonly trial_end: number | null;
  readonly items: {
    readonly data: readonly {
      readonly id: string;
      readonly current_period_start: number;
      readonly current_period_end: number;
    }[];
  };
}

interface StripeTax {
  readonly amount: number;
  readonly tax_behavior: string;
}

interface StripeLine {
  readonly description: string | null;
  readonly amount: number;
  readonly taxes: readonly StripeTax[] | null;
  readonly period: { readonly start: number; readonly end: number };
}

/** An invoice as Stripe has it. */
export interface OutsideInvoice {
  readonly externalId: string;
  readonly status: InvoiceStatus;
  readonly reason: BillingReason;
  readonly currency: string;
  readonly lines: readonly InvoiceLine[];
  readonly taxCents: number;
  /** The total that Stripe states. */
  readonly totalCents: number;
  readonly balanceCents: number;
  readonly creditedCents: number;
  readonly createdAt: Date;
  readonly issuedAt: Date;
  readonly dueAt: Date | null;
  readonly paidAt: Date | null;
}

const SUBSCRIPTION_STATUSES: Readonly<Record<string, OutsideState['status']>> = {
  trialing: 'TRIALING',
  active: 'ACTIVE',
  // Not yet charged for the first time: as with an open invoice.
  incomplete: 'ACTIVE',
  past_due: 'PAST_DUE',
  unpaid: 'RESTRICTED',
  paused: 'RESTRICTED',
  canceled: 'CANCELLED',
  incomplete_expired: 'EXPIRED',
};

const INVOICE_STATUSES: Readonly<Record<string, InvoiceStatus>> = {
  draft: 'DRAFT',
  open: 'OPEN',
  paid: 'PAID',
  uncollectible: 'UNCOLLECTIBLE',
  void: 'VOID',
};

/** Stripe's subscription in our words. Throws on a state that we do not know. */
export function outsideState(subscription: StripeSubscription): OutsideState {
  const [item] = subscription.items.data;
  const status = SUBSCRIPTION_STATUSES[subscription.status];
  if (status === undefined || item === undefined) {
    throw new Error(`A subscription at Stripe that is ${subscription.status} cannot be followed.`);
  }
  return {
    status,
    period: { start: moment(item.current_period_start), end: moment(item.current_period_end) },
    trialEndsAt: status === 'TRIALING' ? momentOrNull(subscription.trial_end) : null,
    cancelAtPeriodEnd: subscription.cancel_at_period_end,
    cancelledAt: momentOrNull(subscription.canceled_at),
    endedAt: momentOrNull(subscription.ended_at),
  };
}

export function invoiceStatus(status: string | null): InvoiceStatus {
  const known = INVOICE_STATUSES[status ?? ''];
  if (known === undefined) throw new Error(`An invoice at Stripe that is ${status} cannot be followed.`);
  return known;
}

/** An unknown reason counts as an update. */
export function billingReason(reason: string | null): BillingReason {
  return reason === 'subscription_create' || reason === 'subscription_cycle' ? reason : 'subscription_update';
}

/** The lines without their taxes, inclusive ones as well, with the discount as the last one. */
export function invoiceLines(lines: readonly StripeLine[], discountCents: number): InvoiceLine[] {
  const own = lines.map(({ description, amount, taxes, period }) => ({
    description: description ?? 'Subscription',
    amountCents: amount - sumOf((taxes ?? []).filter((tax) => tax.tax_behavior === 'inclusive')),
    periodStart: moment(period.start),
    periodEnd: moment(period.end),
  }));
  const [first] = own;
  if (discountCents === 0 || first === undefined) return own;
  return [...own, { ...first, description: 'Discount', amountCents: -discountCents }];
}

export function sumOf(amounts: readonly { readonly amount: number }[] | null | undefined): number {
  return (amounts ?? []).reduce((sum, { amount }) => sum + amount, 0);
}

/** Converts Stripe's seconds. */
export function moment(seconds: number): Date {
  return new Date(seconds * 1_000);
}

export function momentOrNull(seconds: number | null): Date | null {
  return seconds === null ? null : moment(seconds);
}
