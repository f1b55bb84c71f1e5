export type BillingInterval = 'MONTHLY' | 'YEARLY';

/** From `start` inclusive to `end` exclusive. */
export interface BillingPeriod {
  readonly start: Date;
  readonly end: Date;
}

const MONTHS: Readonly<Record<BillingInterval, number>> = { MONTHLY: 1, YEARLY: 12 };

/**
 * The period that `now` falls into: from one anniversary of `anchoredAt` to the next, in UTC. Where a
 * month lacks the day, its last one stands in for it (31 Jan → 28 Feb → 31 Mar), without moving the later
 * ones. Allowances "per month" use monthly periods whatever the plan is billed by.
 */
export function billingPeriod(
  anchoredAt: Date,
  now: Date,
  interval: BillingInterval = 'MONTHLY',
): BillingPeriod {
  const step = MONTHS[interval];
  const monthsApart =
    (now.getUTCFullYear() - anchoredAt.getUTCFullYear()) * 12 + now.getUTCMonth() - anchoredAt.getUTCMonth();
  const candidate = Math.floor(monthsApart / step);
  const index = anniversary(anchoredAt, candidate * step) > now ? candidate - 1 : candidate;
  return { start: anniversary(anchoredAt, index * step), end: anniversary(anchoredAt, (index + 1) * step) };
}

/** `months` after `anchoredAt`, at the same time of day, on the same day or the month's last. */
function anniversary(anchoredAt: Date, months: number): Date {
  const result = new Date(anchoredAt);
  result.setUTCDate(1);
  result.setUTCMonth(result.getUTCMonth() + months);
  const lastDay = new Date(result);
  lastDay.setUTCMonth(lastDay.getUTCMonth() + 1, 0);
  result.setUTCDate(Math.min(anchoredAt.getUTCDate(), lastDay.getUTCDate()));
  return result;
}
