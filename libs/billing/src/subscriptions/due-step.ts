import type { AccountState } from './account-state.js';

const DAY_MS = 86_400_000;
/** Days that mail still goes out after an invoice was not paid in time. */
export const GRACE_DAYS = 14;
/** Days after the grace in which a payment still brings everything back. */
export const RESTRICTED_DAYS = 30;

/** What time alone does to a subscription next. */
export type DueStep = 'end-trial' | 'begin-grace' | 'restrict' | 'expire' | 'renew';

/** When that is, given when its oldest open invoice is due; null: never. */
export function nextDueAt(state: AccountState, openInvoiceDueAt: Date | null): Date | null {
  const { status, period, trialEndsAt, cancelAtPeriodEnd, isRenewedElsewhere } = state;
  const renewal = isRenewedElsewhere ? null : period.end;
  switch (status) {
    case 'TRIALING':
      return isRenewedElsewhere ? null : trialEndsAt;
    case 'ACTIVE':
      return earliest(renewal, openInvoiceDueAt);
    case 'PAST_DUE':
      return earliest(renewal, graceEnd(state));
    case 'RESTRICTED':
      return earliest(cancelAtPeriodEnd ? renewal : null, patienceEnd(state));
    case 'CANCELLED':
    case 'EXPIRED':
      return null;
  }
}

/** Of a subscription that `nextDueAt` gives a moment for. */
export function dueStep(state: AccountState, openInvoiceDueAt: Date | null): DueStep {
  const { status, period, isRenewedElsewhere } = state;
  const isBefore = (moment: Date | null) => moment !== null && (isRenewedElsewhere || moment <= period.end);
  if (status === 'TRIALING') return 'end-trial';
  if (status === 'ACTIVE' && isBefore(openInvoiceDueAt)) return 'begin-grace';
  if (status === 'PAST_DUE' && isBefore(graceEnd(state))) return 'restrict';
  if (status === 'RESTRICTED' && !isCancelledFirst(state)) return 'expire';
  return 'renew';
}

function isCancelledFirst(state: AccountState): boolean {
  const { cancelAtPeriodEnd, period, isRenewedElsewhere } = state;
  const end = patienceEnd(state);
  return cancelAtPeriodEnd && !isRenewedElsewhere && (end === null || period.end <= end);
}

const graceEnd = ({ pastDueSince }: AccountState) => daysAfter(pastDueSince, GRACE_DAYS);

const patienceEnd = ({ restrictedSince }: AccountState) => daysAfter(restrictedSince, RESTRICTED_DAYS);

function daysAfter(moment: Date | null, days: number): Date | null {
  return moment === null ? null : new Date(moment.getTime() + days * DAY_MS);
}

function earliest(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return one ?? other;
  return one <= other ? one : other;
}
