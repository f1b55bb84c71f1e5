import { type Plan, PLAN_TIERS, type PlanTier, priceIn } from '../plans/plan.js';
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

interface Wanted {
  readonly interval: BillingInterval;
  /** Null: as few as the plan is sold with. */
  readonly aiCredits: number | null;
  readonly currency: string;
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

/** What a plan is sold for; null when it is not sold with so many AI credits or in that currency. */
export function termsOf(plan: Plan, { interval, aiCredits, currency }: Wanted): Terms | null {
  const variant = plan.variants.find(
    (candidate) => candidate.aiCredits === (aiCredits ?? candidate.aiCredits),
  );
  const price = variant?.prices.find((candidate) => candidate.currency === currency);
  if (variant === undefined || price === undefined) return null;
  return {
    tier: plan.tier,
    planVersionId: plan.id,
    planName: plan.name,
    aiCredits: variant.aiCredits,
    interval,
    currency: price.currency,
    priceCents: interval === 'MONTHLY' ? price.monthlyCents : price.yearlyCents,
  };
}

/** The same, or where it is not sold like that, with as few AI credits and in a currency that it is sold in. */
export function nearestTermsOf(plan: Plan, wanted: Wanted): Terms {
  const terms = termsOf(plan, wanted);
  if (terms !== null) return terms;
  const [variant] = plan.variants;
  const currency = variant === undefined ? wanted.currency : priceIn(variant, wanted.currency).currency;
  const least = termsOf(plan, { interval: wanted.interval, aiCredits: null, currency });
  if (least === null) throw new Error(`The plan ${plan.tier} has no price.`);
  return least;
}
