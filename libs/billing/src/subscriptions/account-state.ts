import type { BillingReason, InvoiceLine } from '../invoices/invoice.js';
import type { BillingPeriod } from './billing-period.js';
import type { SubscriptionStatus } from './subscription-status.js';
import type { Terms } from './terms.js';

export interface AccountState {
  readonly status: SubscriptionStatus;
  readonly terms: Terms;
  /** What it goes on with after this period; null: the same. */
  readonly pending: Terms | null;
  /** Periods are anniversaries of this moment. */
  readonly anchoredAt: Date;
  readonly period: BillingPeriod;
  readonly trialEndsAt: Date | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly cancelledAt: Date | null;
  readonly cancellationReason: string | null;
  readonly pastDueSince: Date | null;
  readonly restrictedSince: Date | null;
  readonly endedAt: Date | null;
  /** Whether a payment provider renews it and makes its invoices. */
  readonly isRenewedElsewhere: boolean;
}

/** What follows from a change, for whoever keeps invoices and speaks with payment providers. */
export type Effect =
  | { readonly kind: 'period-started'; readonly period: BillingPeriod }
  | {
      readonly kind: 'invoice';
      readonly reason: BillingReason;
      readonly currency: string;
      readonly lines: readonly InvoiceLine[];
    }
  /** Open invoices are given up. */
  | { readonly kind: 'write-off' }
  /** The payment provider is to end it, too. */
  | { readonly kind: 'end-elsewhere' };

/** What is new in a subscription that begins, or begins again. */
export interface Start {
  readonly terms: Terms;
  /** Null: without a trial. */
  readonly trialEndsAt: Date | null;
}

/** A subscription as a payment provider has it, who renews it. */
export interface OutsideState {
  readonly status: SubscriptionStatus;
  readonly period: BillingPeriod;
  readonly trialEndsAt: Date | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly cancelledAt: Date | null;
  readonly endedAt: Date | null;
}
