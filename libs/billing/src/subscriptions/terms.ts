import { type InvoiceLine, share } from '../invoices/invoice.js';
import { type Plan, PLAN_TIERS, type PlanTier, priceIn } from '../plan.js';
import { type BillingInterval, type BillingPeriod, billingPeriod } from './billing-period.js';

/** The thing sold: a version of a plan with its AI credits, monthly or yearly, at a price. */
export interface Terms {
  readonly tier: PlanTier;
  readonly planVersionId: number;
  readonly planName: string;
  /** A month. */
  readonly aiCredits: number;
  readonly interval: BillingInterval;
  /** ISO 4217. */
  readonly currency: string;
  /** Price of one period, in minor units of the currency. */
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

/** Text of an invoice line: `Pro, monthly, 2000 AI credits a month`. */
export function describeTerms({ planName, interval, aiCredits }: Terms): string {
  const credits = aiCredits === 0 ? '' : `, ${aiCredits} AI credits a month`;
  return `${planName}, ${interval === 'MONTHLY' ? 'monthly' : 'yearly'}${credits}`;
}

/** Terms of a plan; null when it is not sold with so many AI credits or in that currency. */
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

/** The same, or for a plan not sold like that, its fewest AI credits in a currency that it is sold in. */
export function nearestTermsOf(plan: Plan, wanted: Wanted): Terms {
  const terms = termsOf(plan, wanted);
  if (terms !== null) return terms;
  const [variant] = plan.variants;
  const currency = variant === undefined ? wanted.currency : priceIn(variant, wanted.currency).currency;
  const least = termsOf(plan, { interval: wanted.interval, aiCredits: null, currency });
  if (least === null) throw new Error(`The plan ${plan.tier} has no price.`);
  return least;
}

/**
 * Prorates an upgrade at `now`: takes off the unused time at the old price and adds the same time at the new one, or a whole
 * new period for another interval. Null when the sum is below zero.
 */
export function upgradeOf(
  from: Terms,
  to: Terms,
  period: BillingPeriod,
  now: Date,
): { readonly period: BillingPeriod; readonly lines: readonly InvoiceLine[] } | null {
  const isSamePeriod = to.interval === from.interval;
  const rest = { start: now, end: period.end };
  const next = isSamePeriod ? rest : billingPeriod(now, now, to.interval);
  const unused = share(from.priceCents, lengthOf(rest), lengthOf(period));
  const added = isSamePeriod ? share(to.priceCents, lengthOf(rest), lengthOf(period)) : to.priceCents;
  if (added < unused) return null;
  const what = isSamePeriod ? `Remaining time of ${describeTerms(to)}` : describeTerms(to);
  return {
    period: next,
    lines: [lineOf(`Unused time of ${describeTerms(from)}`, -unused, rest), lineOf(what, added, next)],
  };
}

export function lineOf(description: string, amountCents: number, { start, end }: BillingPeriod): InvoiceLine {
  // Turns −0 into 0.
  return {
    description,
    amountCents: amountCents === 0 ? 0 : amountCents,
    periodStart: start,
    periodEnd: end,
  };
}

function lengthOf({ start, end }: BillingPeriod): number {
  return end.getTime() - start.getTime();
}
