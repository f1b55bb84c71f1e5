import { InvalidStateError } from '#kernel';
import type { BillingReason, InvoiceLine } from '../invoices/invoice.js';
import type { AccountState, Effect, OutsideState, Start } from './account-state.js';
import { type BillingPeriod, billingPeriod } from './billing-period.js';
import { dueStep, nextDueAt } from './due-step.js';
import { lineOf, upgradeOf } from './proration.js';
import type { SubscriptionStatus } from './subscription-status.js';
import { compareTerms, describeTerms, type Terms } from './terms.js';

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
 * The life of a subscription: what time, payments and the operator do to it. Money is in minor units; the moment of
 * every change comes from outside. `effects` collects what has to be invoiced.
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

  /** What was not taken yet, in the order in which it happened. */
  takeEffects(): Effect[] {
    return this.#effects.splice(0);
  }

  /** When time alone changes it next, given when its oldest open invoice is due; null: never. */
  nextDueAt(openInvoiceDueAt: Date | null): Date | null {
    return nextDueAt(this.#state, openInvoiceDueAt);
  }

  /** Does all that was due by `now`, in its order. Again at the same time it does nothing. */
  advance(now: Date, openInvoiceDueAt: Date | null): void {
    for (;;) {
      const due = this.nextDueAt(openInvoiceDueAt);
      if (due === null || due > now) return;
      this.#step(due, openInvoiceDueAt);
    }
  }

  /**
   * Puts it on other terms: more of something at once, for the rest of the period's price; less of it when the
   * period ends. Nothing is ever paid back, so what would owe the tenant money waits for the end, too. Tells which
   * it was. Throws `InvalidStateError` while an invoice is overdue.
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

  /** Ends it: when what is paid for is used up, or at once. Nothing is paid back. */
  cancel(when: 'at-period-end' | 'at-once', reason: string | null, now: Date): void {
    this.#refuseIn('cancel', ['CANCELLED', 'EXPIRED']);
    this.#set({ cancelledAt: now, cancellationReason: reason, pending: null });
    if (when === 'at-once') this.#end('CANCELLED', now);
    else this.#set({ cancelAtPeriodEnd: true });
  }

  /** Looks again after an invoice was paid or voided; `unpaidDueAt` is when the oldest of those left is due. */
  settle(now: Date, unpaidDueAt: Date | null): void {
    const { status, period, isRenewedElsewhere } = this.#state;
    const isStillOwed = unpaidDueAt !== null && unpaidDueAt <= now;
    const isOver = status === 'EXPIRED' && period.end <= now;
    if (isStillOwed || isOver || !['PAST_DUE', 'RESTRICTED', 'EXPIRED'].includes(status)) return;
    this.#set({ status: 'ACTIVE', pastDueSince: null, restrictedSince: null, endedAt: null });
    if (status === 'RESTRICTED' && period.end <= now && !isRenewedElsewhere) this.#comeBack(now);
  }

  /** Hands it to a payment provider: from now on that one renews it. */
  handOver(terms: Terms, outside: OutsideState, now: Date): void {
    this.#set({ ...FRESH, isRenewedElsewhere: true, status: outside.status, terms });
    this.#set({ anchoredAt: outside.period.start });
    this.follow(outside, now);
  }

  /** The provider ended what expired here. A late payment still brings the rest of its period back, and no more. */
  endElsewhere(): void {
    this.#set({ isRenewedElsewhere: false, cancelAtPeriodEnd: true });
  }

  /** What the provider was told already: more holds at once, less when its period ends. */
  note(terms: Terms, when: 'at-once' | 'at-period-end'): void {
    this.#set(when === 'at-once' ? { terms, pending: null } : { pending: terms });
  }

  /**
   * Takes over how the payment provider has it, as long as that one renews it. How long it may go on unpaid is ours to
   * say: its being behind with payments ends with `settle`.
   */
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

  /** Nothing was begun while it was restricted: its next period begins with the payment. */
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

  /** False when the tenant would get money back, or pays in another currency: then nothing was done. */
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

  /** What costs nothing needs no invoice. */
  #invoice(reason: BillingReason, lines: readonly InvoiceLine[]): void {
    if (lines.every(({ amountCents }) => amountCents === 0)) return;
    this.#effects.push({ kind: 'invoice', reason, currency: this.#state.terms.currency, lines });
  }

  #refuseIn(what: string, states: readonly SubscriptionStatus[]): void {
    const { status } = this.#state;
    if (!states.includes(status)) return;
    const allowed = (
      ['TRIALING', 'ACTIVE', 'PAST_DUE', 'RESTRICTED', 'CANCELLED', 'EXPIRED'] as const
    ).filter((other) => !states.includes(other));
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
