import { PLAN_TIERS, type PlanTier } from '../plans/plan.js';
import type { BillingInterval } from './billing-period.js';

/** What is sold: a version of a plan with its AI credits, by the month or the year, at a price. */
export interface Terms {
  readonly tier: PlanTier;
  readonly planVersionId: number;
  readonly planName: string;
  /** A month. */
  readonly aiCredits: number;
  readonly interval: BillingInterval;
  /** ISO 4217. */
  readonly currency: string;
  /** Of one period, in minor units of the currency. */
  readonly priceCents: number;
}

const INTERVALS: readonly BillingInterval[] = ['MONTHLY', 'YEARLY'];

/** Above 0 when `to` is more than `from`: a bigger plan, else more AI credits, else by the year. 0: the same. */
export function compareTerms(from: Terms, to: Terms): number {
  return (
    PLAN_TIERS.indexOf(to.tier) - PLAN_TIERS.indexOf(from.tier) ||
    to.aiCredits - from.aiCredits ||
    INTERVALS.indexOf(to.interval) - INTERVALS.indexOf(from.interval)
  );
}

/** As it stands on an invoice: `Pro, monthly, 2000 AI credits a month`. */
export function describeTerms({ planName, interval, aiCredits }: Terms): string {
  const credits = aiCredits === 0 ? '' : `, ${aiCredits} AI credits a month`;
  return `${planName}, ${interval === 'MONTHLY' ? 'monthly' : 'yearly'}${credits}`;
}
