import type { PlanLimits, PlanTier } from '../plans/plan.js';
import type { BillingInterval, BillingPeriod } from './billing-period.js';

export const SUBSCRIPTION_STATUSES = [
  'TRIALING',
  'ACTIVE',
  'PAST_DUE',
  'RESTRICTED',
  'CANCELLED',
  'EXPIRED',
] as const;
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number];

/** What a tenant has subscribed to, as of now. */
export interface Subscription {
  readonly id: number;
  readonly planTier: PlanTier;
  readonly status: SubscriptionStatus;
  readonly billingInterval: BillingInterval;
  /** AI credits that it includes, a month. */
  readonly aiCredits: number;
  /** ISO 4217. */
  readonly currency: string;
  /** What it becomes at the end of the period; null when it stays what it is. */
  readonly pendingPlanTier: PlanTier | null;
  readonly pendingAiCredits: number | null;
  /** When the cancellation was asked for. */
  readonly cancelledAt: Date | null;
  readonly cancellationReason: string | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly isSendingAllowed: boolean;
  readonly limits: PlanLimits;
  /** Periods are anniversaries of this moment. */
  readonly anchoredAt: Date;
  readonly currentPeriod: BillingPeriod;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Whether mail may be sent: until the grace of a missed payment is over. */
export function allowsSending(status: SubscriptionStatus): boolean {
  return status === 'TRIALING' || status === 'ACTIVE' || status === 'PAST_DUE';
}
