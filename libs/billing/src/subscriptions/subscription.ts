import type { InvoiceParty } from '../invoices/invoice.js';
import type { PlanLimits, PlanTier } from '../plan.js';
import { type BillingInterval, type BillingPeriod, billingPeriod } from './billing-period.js';
import type { AccountState, SubscriptionStatus } from './subscription-account.js';
import type { Terms } from './terms.js';

/** A tenant's subscription as of now. */
export interface CurrentSubscription {
  readonly id: number;
  readonly planTier: PlanTier;
  readonly status: SubscriptionStatus;
  readonly billingInterval: BillingInterval;
  /** AI credits included a month. */
  readonly aiCredits: number;
  /** ISO 4217. */
  readonly currency: string;
  /** Plan after the end of the period; null for no change. */
  readonly pendingPlanTier: PlanTier | null;
  readonly pendingAiCredits: number | null;
  /** Time of the cancellation request. */
  readonly cancelledAt: Date | null;
  readonly cancellationReason: string | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly isSendingAllowed: boolean;
  readonly limits: PlanLimits;
  /** Periods are anniversaries of this moment. */
  readonly anchoredAt: Date;
  readonly currentPeriod: BillingPeriod;
  /** The month of its usage counts. */
  readonly currentMonth: BillingPeriod;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export type PaymentProviderName = 'MANUAL' | 'STRIPE';

export interface BuyerDetails {
  readonly name?: string | undefined;
  readonly address?: string | undefined;
  readonly taxId?: string | undefined;
}

/** The row of a tenant's subscription, with its buyer. `SubscriptionAccount` decides its changes. */
export class Subscription {
  readonly id!: number;
  readonly tenantId!: number;
  status!: SubscriptionStatus;
  planTier!: PlanTier;
  /** Null in a row that was made by hand: the version on offer. */
  planVersionId!: number | null;
  billingInterval!: BillingInterval;
  /** Null in a row that was made by hand: the fewest of the plan. */
  aiCredits!: number | null;
  currency!: string;
  pendingPlanTier!: PlanTier | null;
  pendingPlanVersionId!: number | null;
  pendingBillingInterval!: BillingInterval | null;
  pendingAiCredits!: number | null;
  pendingCurrency!: string | null;
  anchoredAt!: Date;
  currentPeriodStart!: Date | null;
  currentPeriodEnd!: Date | null;
  trialEndsAt!: Date | null;
  cancelAtPeriodEnd!: boolean;
  cancelledAt!: Date | null;
  cancellationReason!: string | null;
  pastDueSince!: Date | null;
  restrictedSince!: Date | null;
  endedAt!: Date | null;
  provider!: PaymentProviderName;
  externalId!: string | null;
  externalCustomerId!: string | null;
  buyerName!: string | null;
  buyerAddress!: string | null;
  buyerTaxId!: string | null;
  /** The last month whose AI credits were announced, with their number. */
  announcedMonth!: Date | null;
  announcedCredits!: number | null;
  readonly createdAt!: Date;
  updatedAt!: Date;

  /** Buyer on its invoices; the tenant's name by default. */
  buyerOf(tenant: { readonly name: string }): InvoiceParty {
    return {
      name: this.buyerName ?? tenant.name,
      address: this.buyerAddress,
      taxId: this.buyerTaxId,
    };
  }

  /** Changes the given details only. */
  setBuyer({ name, address, taxId }: BuyerDetails): void {
    this.buyerName = name ?? this.buyerName;
    this.buyerAddress = address ?? this.buyerAddress;
    this.buyerTaxId = taxId ?? this.buyerTaxId;
  }

  isAnnounced(month: Date, aiCredits: number): boolean {
    return this.announcedMonth?.getTime() === month.getTime() && (this.announcedCredits ?? 0) >= aiCredits;
  }

  /** Notes the announcement of a month and its AI credits. */
  announce(month: Date, aiCredits: number): void {
    this.announcedMonth = month;
    this.announcedCredits = aiCredits;
  }

  /** Its state with the terms of its plans. */
  stateWith(terms: Terms, pending: Terms | null, now: Date): AccountState {
    const { status, anchoredAt, trialEndsAt, cancelAtPeriodEnd, cancelledAt, cancellationReason } = this;
    const { pastDueSince, restrictedSince, endedAt, currentPeriodStart: start, currentPeriodEnd: end } = this;
    // A row that was made by hand has only the anchor of its periods.
    const isStored = start !== null && end !== null;
    const period = isStored ? { start, end } : billingPeriod(anchoredAt, now, this.billingInterval);
    const cancellation = { cancelAtPeriodEnd, cancelledAt, cancellationReason };
    const times = { anchoredAt, period, trialEndsAt, pastDueSince, restrictedSince, endedAt };
    return {
      status,
      terms,
      pending,
      ...times,
      ...cancellation,
      isRenewedElsewhere: this.provider === 'STRIPE',
    };
  }

  /** Takes over a changed state. */
  record({ terms, pending, period, isRenewedElsewhere, ...state }: AccountState): void {
    Object.assign(this, state);
    this.planTier = terms.tier;
    this.planVersionId = terms.planVersionId;
    this.billingInterval = terms.interval;
    this.aiCredits = terms.aiCredits;
    this.currency = terms.currency;
    this.pendingPlanTier = pending?.tier ?? null;
    this.pendingPlanVersionId = pending?.planVersionId ?? null;
    this.pendingBillingInterval = pending?.interval ?? null;
    this.pendingAiCredits = pending?.aiCredits ?? null;
    this.pendingCurrency = pending?.currency ?? null;
    this.currentPeriodStart = period.start;
    this.currentPeriodEnd = period.end;
    this.provider = isRenewedElsewhere ? 'STRIPE' : 'MANUAL';
  }
}
