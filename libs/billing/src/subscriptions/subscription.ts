import type { PlanLimits, PlanTier } from '../plans/plan.js';
import type { BillingInterval, BillingPeriod } from './billing-period.js';

export type SubscriptionStatus = 'TRIALING' | 'ACTIVE' | 'PAST_DUE' | 'RESTRICTED' | 'CANCELLED' | 'EXPIRED';

/** What a tenant has subscribed to, as of now. */
export interface Subscription {
  readonly id: number;
  readonly planTier: PlanTier;
  readonly status: SubscriptionStatus;
  readonly billingInterval: BillingInterval;
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
