import { InvalidStateError } from '#kernel';
import type { BillingReason, InvoiceLine } from '../invoices/invoice.js';
import { type BillingPeriod, billingPeriod } from './billing-period.js';
import { compareTerms, describeTerms, lineOf, type Terms, upgradeOf } from './terms.js';

const DAY_MS = 86_400_000;
/** Days that mail still goes out after an invoice is overdue. */
export const GRACE_DAYS = 14;
/** Days after the grace in which a payment still restores everything. */
export const RESTRICTED_DAYS = 30;

export const SUBSCRIPTION_STATUSES = [
  'TRIALING',
  'ACTIVE',
  'PAST_DUE',
  'RESTRICTED',
  'CANCELLED',
  'EXPIRED',
] as const;
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number];

/** Mail may be sent until the grace of a missed payment is over. */
export function allowsSending(status: SubscriptionStatus): boolean {
  return status === 'TRIALING' || status === 'ACTIVE' || status === 'PAST_DUE';
}

/** The state of a subscription, with the terms that its plans come to. */
export interface AccountState {
  readonly status: SubscriptionStatus;
  readonly terms: Terms;
  /** Terms after this period; null: the same. */
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
  /** A payment provider renews it and makes its invoices. */
  readonly isRenewedElsewhere: boolean;
}

/** A consequence of a change, for invoices and payment providers. */
export type Effect =
  | { readonly kind: 'period-started'; readonly period: BillingPeriod }
  | {
      readonly kind: 'invoice';
      readonly reason: BillingReason;
      readonly currency: string;
      readonly lines: readonly InvoiceLine[];
    }
  /** Open invoices are written off. */
  | { readonly kind: 'write-off' }
  /** The payment provider has to end it, too. */
  | { readonly kind: 'end-elsewhere' };

/** Terms and trial of a subscription that begins, or begins again. */
export interface Start {
  readonly terms: Terms;
  /** Null: without a trial. */
  readonly trialEndsAt: Date | null;
}

/** A subscription as the payment provider that renews it has it. */
export interface OutsideState {
  readonly status: SubscriptionStatus;
  readonly period: BillingPeriod;
  readonly trialEndsAt: Date | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly cancelledAt: Date | null;
  readonly endedAt: Date | null;
}

const FRESH = {
  pending: null,
  trialEndsAt: null,
  cancelAtPeriodEnd: false,
  cancelledAt: null,
  cancellationReason: null,
  pastDueSince: null,
  restrictedSince: null,
  endedAt: null,
};

/**
 * The life of a subscription under time, payments and the operator. Money is in minor units; the moment of every change comes
 * from outside. Effects collect for the caller.
 */
export class SubscriptionAccount {
  #state: AccountState;
  readonly #effects: Effect[] = [];

  constructor(state: AccountState) {
    this.#state = state;
  }

  /** A subscription that begins at `now`. */
  static begin(start: Start, now: Date): SubscriptionAccount {
    const account = new SubscriptionAccount({
      ...FRESH,
      status: 'ACTIVE',
      terms: start.terms,
      anchoredAt: now,
      period: billingPeriod(now, now, start.terms.interval),
      isRenewedElsewhere: false,
    });
    account.#begin(start, now);
    return account;
  }

  get state(): AccountState {
    return this.#state;
  }

  /** Effects not taken yet, oldest first. */
  takeEffects(): Effect[] {
    return this.#effects.splice(0);
  }

  /** Time of the next change that time alone brings, given the due time of the oldest open invoice; null: never. */
  nextDueAt(openInvoiceDueAt: Date | null): Date | null {
    return nextDueAt(this.#state, openInvoiceDueAt);
  }

  /** Makes all changes due by `now`, in order. Repeated at the same time it does nothing. */
  advance(now: Date, openInvoiceDueAt: Date | null): void {
    for (;;) {
      const due = this.nextDueAt(openInvoiceDueAt);
      if (due === null || due > now) return;
      this.#step(due, openInvoiceDueAt);
    }
  }

  /**
   * Changes the terms: more of something at once, for the rest of the period's price; less when the period ends. Nothing is
   * paid back, so a change that would owe the tenant money waits, too. Throws `InvalidStateError` while an invoice is overdue.
   */
  change({ terms, trialEndsAt }: Start, now: Date): 'begun' | 'at-once' | 'at-period-end' | 'unchanged' {
    this.#refuseIn('change the plan', ['PAST_DUE', 'RESTRICTED']);
    const { status, terms: current } = this.#state;
    const isOver = status === 'CANCELLED' || status === 'EXPIRED';
    if (isOver || (current.priceCents === 0 && terms.priceCents > 0)) {
      this.#begin({ terms, trialEndsAt }, now);
      return 'begun';
    }
    if (trialEndsAt !== null) this.#refuseTrial();
    this.#set({ pending: null, cancelAtPeriodEnd: false, cancelledAt: null, cancellationReason: null });
    const more = compareTerms(current, terms);
    if (more === 0 && terms.currency === current.currency) return 'unchanged';
    const isFree = current.priceCents === 0 && terms.priceCents === 0 && terms.interval === current.interval;
    if (status === 'TRIALING' || isFree) {
      this.#set({ terms });
      return 'at-once';
    }
    if (more > 0 && this.#upgrade(terms, now)) return 'at-once';
    this.#set({ pending: terms });
    return 'at-period-end';
  }

  /** Ends it when the paid period is over, or at once. Nothing is paid back. */
  cancel(when: 'at-period-end' | 'at-once', reason: string | null, now: Date): void {
    this.#refuseIn('cancel', ['CANCELLED', 'EXPIRED']);
    this.#set({ cancelledAt: now, cancellationReason: reason, pending: null });
    if (when === 'at-once') this.#end('CANCELLED', now);
    else this.#set({ cancelAtPeriodEnd: true });
  }

  /** Restores it after an invoice was paid or voided; `unpaidDueAt` is the due time of the oldest one left. */
  settle(now: Date, unpaidDueAt: Date | null): void {
    const { status, period, isRenewedElsewhere } = this.#state;
    const isStillOwed = unpaidDueAt !== null && unpaidDueAt <= now;
    const isOver = status === 'EXPIRED' && period.end <= now;
    if (isStillOwed || isOver || !['PAST_DUE', 'RESTRICTED', 'EXPIRED'].includes(status)) return;
    this.#set({ status: 'ACTIVE', pastDueSince: null, restrictedSince: null, endedAt: null });
    if (status === 'RESTRICTED' && period.end <= now && !isRenewedElsewhere) this.#comeBack(now);
  }

  /** Hands it to a payment provider, which renews it from now on. */
  handOver(terms: Terms, outside: OutsideState, now: Date): void {
    this.#set({ ...FRESH, isRenewedElsewhere: true, status: outside.status, terms });
    this.#set({ anchoredAt: outside.period.start });
    this.follow(outside, now);
  }

  /** Notes that the provider ended an expired one. A late payment still restores the rest of its period, and no more. */
  endElsewhere(): void {
    this.#set({ isRenewedElsewhere: false, cancelAtPeriodEnd: true });
  }

  /** Notes terms that the provider has already: more holds at once, less when its period ends. */
  note(terms: Terms, when: 'at-once' | 'at-period-end'): void {
    this.#set(when === 'at-once' ? { terms, pending: null } : { pending: terms });
  }

  /** Takes over the state at the payment provider that renews it. Arrears are ours to judge: they end with `settle`. */
  follow(outside: OutsideState, now: Date): void {
    if (!this.#state.isRenewedElsewhere) return;
    const { status, period, pending, terms, pastDueSince } = this.#state;
    const hasNewPeriod = outside.period.start.getTime() !== period.start.getTime();
    const isBehind = status === 'PAST_DUE' || status === 'RESTRICTED' || status === 'EXPIRED';
    const isLive = outside.status === 'ACTIVE' || outside.status === 'PAST_DUE';
    const { trialEndsAt, cancelAtPeriodEnd, cancelledAt, endedAt } = outside;
    this.#set({ period: outside.period, trialEndsAt, cancelAtPeriodEnd, cancelledAt });
    if (hasNewPeriod) {
      this.#set({ terms: pending ?? terms, pending: null });
      this.#effects.push({ kind: 'period-started', period: outside.period });
      if (status === 'TRIALING') this.#set({ anchoredAt: outside.period.start });
    }
    if (isBehind && isLive) return;
    this.#set({ status: outside.status, endedAt });
    if (outside.status === 'PAST_DUE') this.#set({ pastDueSince: pastDueSince ?? now });
    if (outside.status === 'RESTRICTED') this.#set({ restrictedSince: this.#state.restrictedSince ?? now });
  }

  #begin({ terms, trialEndsAt }: Start, now: Date): void {
    const isTrial = trialEndsAt !== null && terms.priceCents > 0;
    const period = isTrial ? { start: now, end: trialEndsAt } : billingPeriod(now, now, terms.interval);
    this.#set({
      ...FRESH,
      isRenewedElsewhere: false,
      terms,
      anchoredAt: now,
      status: isTrial ? 'TRIALING' : 'ACTIVE',
      trialEndsAt: isTrial ? trialEndsAt : null,
    });
    this.#startPeriod(period, isTrial ? null : 'subscription_create');
  }

  #step(due: Date, openInvoiceDueAt: Date | null): void {
    switch (dueStep(this.#state, openInvoiceDueAt)) {
      case 'end-trial':
        return this.#endTrial();
      case 'begin-grace':
        return this.#set({ status: 'PAST_DUE', pastDueSince: due });
      case 'restrict':
        return this.#set({ status: 'RESTRICTED', restrictedSince: due });
      case 'expire':
        return this.#expire(due);
      case 'renew':
        return this.#renew();
    }
  }

  #endTrial(): void {
    const { trialEndsAt, terms, pending, cancelAtPeriodEnd } = this.#state;
    if (trialEndsAt === null || cancelAtPeriodEnd) return this.#end('CANCELLED', this.#state.period.end);
    const next = pending ?? terms;
    this.#set({ status: 'ACTIVE', trialEndsAt: null, anchoredAt: trialEndsAt, terms: next, pending: null });
    this.#startPeriod(billingPeriod(trialEndsAt, trialEndsAt, next.interval), 'subscription_create');
  }

  #renew(): void {
    const { period, anchoredAt, terms, pending, cancelAtPeriodEnd } = this.#state;
    if (cancelAtPeriodEnd) return this.#end('CANCELLED', period.end);
    const next = pending ?? terms;
    // Every yearly anniversary is a monthly one, but not the other way round.
    const anchor = next.interval === 'YEARLY' && terms.interval === 'MONTHLY' ? period.end : anchoredAt;
    this.#set({ terms: next, pending: null, anchoredAt: anchor });
    this.#startPeriod(billingPeriod(anchor, period.end, next.interval), 'subscription_cycle');
  }

  /** No period began while it was restricted: the next one begins with the payment. */
  #comeBack(now: Date): void {
    const { terms, pending } = this.#state;
    const next = pending ?? terms;
    this.#set({ terms: next, pending: null, anchoredAt: now });
    this.#startPeriod(billingPeriod(now, now, next.interval), 'subscription_cycle');
  }

  #expire(at: Date): void {
    this.#end('EXPIRED', at);
    this.#effects.push({ kind: 'write-off' });
    if (this.#state.isRenewedElsewhere) this.#effects.push({ kind: 'end-elsewhere' });
  }

  #end(status: 'CANCELLED' | 'EXPIRED', endedAt: Date): void {
    this.#set({ status, endedAt, cancelAtPeriodEnd: false, pending: null, trialEndsAt: null });
  }

  /** False, without a change, when the tenant would get money back or pays in another currency. */
  #upgrade(terms: Terms, now: Date): boolean {
    const { terms: current, period } = this.#state;
    const upgrade = upgradeOf(current, terms, period, now);
    if (terms.currency !== current.currency || upgrade === null) return false;
    this.#set({ terms });
    if (terms.interval !== current.interval) {
      this.#set({ anchoredAt: now });
      this.#startPeriod(upgrade.period, null);
    }
    this.#invoice('subscription_update', upgrade.lines);
    return true;
  }

  #startPeriod(period: BillingPeriod, reason: BillingReason | null): void {
    this.#set({ period });
    this.#effects.push({ kind: 'period-started', period });
    const { terms } = this.#state;
    if (reason !== null) this.#invoice(reason, [lineOf(describeTerms(terms), terms.priceCents, period)]);
  }

  /** Adds an invoice unless it costs nothing. */
  #invoice(reason: BillingReason, lines: readonly InvoiceLine[]): void {
    if (lines.every(({ amountCents }) => amountCents === 0)) return;
    this.#effects.push({ kind: 'invoice', reason, currency: this.#state.terms.currency, lines });
  }

  #refuseIn(what: string, states: readonly SubscriptionStatus[]): void {
    const { status } = this.#state;
    if (!states.includes(status)) return;
    const allowed = SUBSCRIPTION_STATUSES.filter((other) => !states.includes(other));
    throw new InvalidStateError(`Cannot ${what}: the subscription is ${status}.`, status, allowed);
  }

  #refuseTrial(): never {
    throw new InvalidStateError('A trial comes before the first paid period.', this.#state.status, [
      'CANCELLED',
      'EXPIRED',
    ]);
  }

  #set(changes: Partial<AccountState>): void {
    this.#state = { ...this.#state, ...changes };
  }
}

/** The next change that time alone brings. */
type DueStep = 'end-trial' | 'begin-grace' | 'restrict' | 'expire' | 'renew';

function nextDueAt(state: AccountState, openInvoiceDueAt: Date | null): Date | null {
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

/** The change at the moment of `nextDueAt`. */
function dueStep(state: AccountState, openInvoiceDueAt: Date | null): DueStep {
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
