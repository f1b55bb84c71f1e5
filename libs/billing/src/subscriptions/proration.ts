import { share } from '../invoices/invoice-amounts.js';
import type { InvoiceLine } from '../invoices/invoice.js';
import { type BillingPeriod, billingPeriod } from './billing-period.js';
import { describeTerms, type Terms } from './terms.js';

/**
 * What more of something costs from `now` on: the unused time of the old price is taken off, and the same time of
 * the new one is added, or a whole new period where the interval is another. Null when that comes to less than
 * nothing. `period` is what it holds for.
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
  // A zero that came from a minus sign is still a zero.
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
