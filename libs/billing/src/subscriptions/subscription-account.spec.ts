import { describe, expect, it } from '@jest/globals';
import { InvalidStateError } from '#kernel';
import * as fc from '#testing/random/properties';
import type { PlanTier } from '../plan.js';
import type { BillingInterval, BillingPeriod } from './billing-period.js';
import { GRACE_DAYS, RESTRICTED_DAYS, SubscriptionAccount } from './subscription-account.js';
import type { Terms } from './terms.js';

const DAY_MS = 86_400_000;
const at = (text: string) => new Date(text);
const daysAfter = (moment: Date, days: number) => new Date(moment.getTime() + days * DAY_MS);
const START = at('2026-01-31T10:00:00.000Z');

const PRICES: Record<PlanTier, Record<BillingInterval, number>> = {
  FREE: { MONTHLY: 0, YEARLY: 0 },
  STANDARD: { MONTHLY: 2_900, YEARLY: 29_000 },
  PRO: { MONTHLY: 9_900, YEARLY: 99_000 },
};
const CREDIT_PRICE = 2;

function termsOf(
  tier: PlanTier,
  interval: BillingInterval = 'MONTHLY',
  aiCredits = 0,
  currency = 'USD',
): Terms {
  const priceCents = tier === 'FREE' ? 0 : PRICES[tier][interval] + aiCredits * CREDIT_PRICE;
  return { tier, planVersionId: 1, planName: tier, aiCredits, interval, currency, priceCents };
}

const begin = (terms: Terms, trialEndsAt: Date | null = null) =>
  SubscriptionAccount.begin({ terms, trialEndsAt }, START);
const invoicesOf = (account: SubscriptionAccount) =>
  account.takeEffects().flatMap((effect) => (effect.kind === 'invoice' ? [effect] : []));
const totalOf = (lines: readonly { readonly amountCents: number }[]) =>
  lines.reduce((sum, { amountCents }) => sum + amountCents, 0);

describe('A subscription', () => {
  it('of 31 January is renewed on 28 February and on 31 March, each with its invoice', () => {
    const account = begin(termsOf('STANDARD'));
    account.advance(at('2026-03-31T10:00:00.000Z'), null);
    const periods = invoicesOf(account).map(({ reason, lines: [line] }) => [
      reason,
      line?.periodStart.toISOString(),
      line?.periodEnd.toISOString(),
    ]);
    expect(periods).toEqual([
      ['subscription_create', '2026-01-31T10:00:00.000Z', '2026-02-28T10:00:00.000Z'],
      ['subscription_cycle', '2026-02-28T10:00:00.000Z', '2026-03-31T10:00:00.000Z'],
      ['subscription_cycle', '2026-03-31T10:00:00.000Z', '2026-04-30T10:00:00.000Z'],
    ]);
  });

  it('to the free plan goes on without invoices', () => {
    const account = begin(termsOf('FREE'));
    account.advance(at('2027-01-01T00:00:00Z'), null);
    expect(invoicesOf(account)).toEqual([]);
    expect(account.state.period.end).toEqual(at('2027-01-31T10:00:00.000Z'));
  });

  it('with a trial costs nothing until that is over, and is billed from then on', () => {
    const trialEnd = daysAfter(START, 14);
    const account = begin(termsOf('STANDARD'), trialEnd);
    expect(account.state.status).toBe('TRIALING');
    expect(invoicesOf(account)).toEqual([]);
    account.advance(new Date(trialEnd.getTime() - 1), null);
    expect(account.state.status).toBe('TRIALING');
    account.advance(trialEnd, null);
    expect(account.state).toMatchObject({ status: 'ACTIVE', anchoredAt: trialEnd });
    expect(invoicesOf(account)).toMatchObject([
      { reason: 'subscription_create', lines: [{ amountCents: 2_900 }] },
    ]);
  });

  it('that is cancelled in its trial ends with it and is never billed', () => {
    const account = begin(termsOf('STANDARD'), daysAfter(START, 14));
    account.cancel('at-period-end', 'too dear', daysAfter(START, 3));
    account.advance(daysAfter(START, 60), null);
    expect(account.state).toMatchObject({ status: 'CANCELLED', endedAt: daysAfter(START, 14) });
    expect(invoicesOf(account)).toEqual([]);
  });

  it('is upgraded at once for the rest of the period: half way through, half of both prices', () => {
    const account = begin(termsOf('STANDARD'));
    account.takeEffects();
    const middle = daysAfter(START, 14);
    expect(account.change({ terms: termsOf('PRO'), trialEndsAt: null }, middle)).toBe('at-once');
    expect(account.state).toMatchObject({ terms: { tier: 'PRO' }, period: { start: START } });
    expect(invoicesOf(account)).toMatchObject([
      { reason: 'subscription_update', lines: [{ amountCents: -1_450 }, { amountCents: 4_950 }] },
    ]);
  });

  it('goes from months to a year at once, with a new period and what is left of the month taken off', () => {
    const account = begin(termsOf('STANDARD'));
    account.takeEffects();
    const middle = daysAfter(START, 14);
    account.change({ terms: termsOf('STANDARD', 'YEARLY'), trialEndsAt: null }, middle);
    expect(account.state.period).toEqual({ start: middle, end: at('2027-02-14T10:00:00.000Z') });
    expect(invoicesOf(account)).toMatchObject([
      { lines: [{ amountCents: -1_450 }, { amountCents: 29_000 }] },
    ]);
  });

  it('is downgraded when the period is over, and not before', () => {
    const account = begin(termsOf('PRO'));
    account.takeEffects();
    expect(account.change({ terms: termsOf('STANDARD'), trialEndsAt: null }, daysAfter(START, 1))).toBe(
      'at-period-end',
    );
    expect(account.state).toMatchObject({ terms: { tier: 'PRO' }, pending: { tier: 'STANDARD' } });
    account.advance(account.state.period.end, null);
    expect(account.state).toMatchObject({ terms: { tier: 'STANDARD' }, pending: null });
    expect(invoicesOf(account)).toMatchObject([
      { reason: 'subscription_cycle', lines: [{ amountCents: 2_900 }] },
    ]);
  });

  it('that was to be downgraded stays what it is when asked for its own plan again', () => {
    const account = begin(termsOf('PRO'));
    account.change({ terms: termsOf('FREE'), trialEndsAt: null }, START);
    expect(account.change({ terms: termsOf('PRO'), trialEndsAt: null }, START)).toBe('unchanged');
    expect(account.state.pending).toBeNull();
  });

  it('waits for the period’s end with an upgrade that would pay money back', () => {
    const account = begin(termsOf('STANDARD', 'YEARLY'));
    account.takeEffects();
    expect(account.change({ terms: termsOf('PRO'), trialEndsAt: null }, daysAfter(START, 1))).toBe(
      'at-period-end',
    );
    expect(invoicesOf(account)).toEqual([]);
  });

  it('is past due when an invoice is, restricted after 14 days, over after 30 more, its debt written off', () => {
    const account = begin(termsOf('STANDARD', 'YEARLY'));
    account.takeEffects();
    const due = daysAfter(START, 7);
    const statusAfter = (days: number) => {
      account.advance(daysAfter(due, days), due);
      return account.state.status;
    };
    expect([statusAfter(-1), statusAfter(0), statusAfter(GRACE_DAYS - 1)]).toEqual([
      'ACTIVE',
      'PAST_DUE',
      'PAST_DUE',
    ]);
    expect([statusAfter(GRACE_DAYS), statusAfter(GRACE_DAYS + RESTRICTED_DAYS - 1)]).toEqual([
      'RESTRICTED',
      'RESTRICTED',
    ]);
    expect(statusAfter(GRACE_DAYS + RESTRICTED_DAYS)).toBe('EXPIRED');
    expect(account.takeEffects()).toEqual([{ kind: 'write-off' }]);
  });

  it.each([0, GRACE_DAYS, GRACE_DAYS + RESTRICTED_DAYS])(
    'comes back with the payment %s days after an invoice was due',
    (days) => {
      const account = begin(termsOf('STANDARD', 'YEARLY'));
      const due = daysAfter(START, 7);
      const now = daysAfter(due, days);
      account.advance(now, due);
      expect(account.state.status).not.toBe('ACTIVE');
      account.settle(now, null);
      expect(account.state).toMatchObject({ status: 'ACTIVE', pastDueSince: null, restrictedSince: null });
    },
  );

  it('whose period ended while it was restricted begins its next one with the payment', () => {
    const account = begin(termsOf('STANDARD'));
    const due = daysAfter(START, 7);
    const now = daysAfter(START, 40);
    account.advance(now, due);
    expect(account.state.status).toBe('RESTRICTED');
    account.takeEffects();
    account.settle(now, null);
    expect(account.state).toMatchObject({ status: 'ACTIVE', anchoredAt: now, period: { start: now } });
    expect(invoicesOf(account)).toMatchObject([{ reason: 'subscription_cycle' }]);
  });

  it('does not come back while another invoice is overdue', () => {
    const account = begin(termsOf('STANDARD', 'YEARLY'));
    const due = daysAfter(START, 7);
    account.advance(due, due);
    account.settle(daysAfter(due, 3), daysAfter(due, 1));
    expect(account.state.status).toBe('PAST_DUE');
  });

  it('that ended begins anew with another plan, from that moment', () => {
    const account = begin(termsOf('STANDARD'));
    account.cancel('at-once', null, daysAfter(START, 2));
    expect(() => account.cancel('at-once', null, START)).toThrow(InvalidStateError);
    const again = daysAfter(START, 5);
    expect(account.change({ terms: termsOf('PRO'), trialEndsAt: null }, again)).toBe('begun');
    expect(account.state).toMatchObject({ status: 'ACTIVE', cancelledAt: null, period: { start: again } });
  });

  it('cannot change its plan while an invoice is overdue', () => {
    const account = begin(termsOf('STANDARD'));
    const due = daysAfter(START, 7);
    account.advance(due, due);
    expect(() => account.change({ terms: termsOf('PRO'), trialEndsAt: null }, due)).toThrow(
      InvalidStateError,
    );
  });
});

const goesOn = (status: string) => !['RESTRICTED', 'CANCELLED', 'EXPIRED'].includes(status);

interface ModelInvoice {
  readonly total: number;
  readonly dueAt: Date;
  state: 'OPEN' | 'PAID' | 'UNCOLLECTIBLE';
}

/** Keeps what happens to one account, as the database would. */
class Model {
  now = START;
  readonly account: SubscriptionAccount;
  readonly invoices: ModelInvoice[] = [];
  /** With when each was over, and whether the subscription had ended before it. */
  readonly periods: { period: BillingPeriod; usedUntil: Date; afterEnd: boolean }[] = [];
  #hasEnded = false;

  constructor(start: Terms, trialDays: number) {
    const trialEndsAt = trialDays === 0 ? null : daysAfter(START, trialDays);
    this.account = SubscriptionAccount.begin({ terms: start, trialEndsAt }, START);
    this.take();
  }

  take(): void {
    for (const effect of this.account.takeEffects()) {
      if (effect.kind === 'period-started') this.#began(effect.period);
      else if (effect.kind === 'invoice') {
        const total = totalOf(effect.lines);
        this.invoices.push({ total, dueAt: daysAfter(this.now, 7), state: 'OPEN' });
      } else {
        for (const invoice of this.invoices) if (invoice.state === 'OPEN') invoice.state = 'UNCOLLECTIBLE';
      }
    }
    const { endedAt } = this.account.state;
    // While it is restricted nothing is begun: its next period starts with the payment.
    this.#hasEnded = endedAt !== null || this.account.state.status === 'RESTRICTED';
    const last = this.periods.at(-1);
    if (last !== undefined) last.usedUntil = endedAt ?? last.period.end;
  }

  #began(period: BillingPeriod): void {
    const last = this.periods.at(-1);
    // A period that begins in the middle of another one ends that one.
    if (last !== undefined && last.usedUntil > period.start) last.usedUntil = period.start;
    this.periods.push({ period, usedUntil: period.end, afterEnd: this.#hasEnded });
  }

  openDueAt(states: readonly string[] = ['OPEN']): Date | null {
    const dues = this.invoices
      .filter(({ state }) => states.includes(state))
      .map(({ dueAt }) => dueAt.getTime());
    return dues.length === 0 ? null : new Date(Math.min(...dues));
  }

  /** As the worker does: until nothing is due, since a new invoice may be. */
  pass(days: number): void {
    this.now = daysAfter(this.now, days);
    this.account.advance(this.now, this.openDueAt());
    this.take();
  }
}

const anyTerms = fc
  .tuple(
    fc.constantFrom<PlanTier>('FREE', 'STANDARD', 'PRO'),
    fc.constantFrom<BillingInterval>('MONTHLY', 'YEARLY'),
    fc.constantFrom(0, 501, 1_003),
    fc.constantFrom('USD', 'USD', 'USD', 'EUR'),
  )
  .map((parts) => termsOf(...parts));
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      days: fc.double({ min: 0, max: 45, noNaN: true }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('change' as const),
      terms: anyTerms,
      trialDays: fc.constantFrom(0, 0, 14),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('pay' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('cancel' as const, 'cancel now' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function act(model: Model, taken: Step): void {
  const { account, now } = model;
  try {
    if (taken.do === 'wait') model.pass(Math.round(taken.days * 1_000) / 1_000);
    else if (taken.do === 'change') {
      account.change(
        { terms: taken.terms, trialEndsAt: taken.trialDays === 0 ? null : daysAfter(now, taken.trialDays) },
        now,
      );
    } else if (taken.do === 'pay') {
      const unpaid = model.invoices.find(({ state }) => state !== 'PAID');
      if (unpaid === undefined) return;
      unpaid.state = 'PAID';
      account.settle(
        now,
        model.openDueAt(account.state.status === 'EXPIRED' ? ['OPEN', 'UNCOLLECTIBLE'] : ['OPEN']),
      );
    } else account.cancel(taken.do === 'cancel' ? 'at-period-end' : 'at-once', null, now);
  } catch (error) {
    if (!(error instanceof InvalidStateError)) throw error;
  }
  model.take();
}

describe('Any life of a subscription', () => {
  const lives = fc.record({
    start: anyTerms,
    trialDays: fc.constantFrom(0, 0, 7),
    steps: fc.array(step, { minLength: 1, maxLength: 60 }),
  });

  it('has periods that neither overlap nor leave a gap while it goes on', () => {
    let [followed, begunAnew] = [0, 0];
    fc.assert(
      fc.property(lives, ({ start, trialDays, steps }) => {
        const model = new Model(start, trialDays);
        for (const taken of steps) act(model, taken);
        model.periods.slice(1).forEach(({ period, afterEnd }, index) => {
          const over = model.periods[index]?.usedUntil.getTime() ?? 0;
          if (afterEnd) {
            begunAnew += 1;
            expect(period.start.getTime()).toBeGreaterThanOrEqual(over);
          } else {
            followed += 1;
            expect(period.start.getTime()).toBe(over);
          }
        });
      }),
      { numRuns: fc.runs(2_000) },
    );
    // Both kinds of neighbours were seen.
    expect(Math.min(followed, begunAnew)).toBeGreaterThan(50);
  });

  it('is always in the period that now falls into, unless it ended', () => {
    fc.assert(
      fc.property(lives, ({ start, trialDays, steps }) => {
        const model = new Model(start, trialDays);
        for (const taken of steps) {
          act(model, taken);
          const { status, period } = model.account.state;
          if (!goesOn(status)) continue;
          model.pass(0);
          const { period: current, status: after } = model.account.state;
          if (!goesOn(after)) continue;
          expect(current.start <= model.now && model.now < current.end).toBe(true);
          expect(period.start < period.end).toBe(true);
        }
      }),
      { numRuns: fc.runs(500) },
    );
  });

  it('is invoiced to the cent, in whole numbers, and never for less than nothing', () => {
    fc.assert(
      fc.property(lives, ({ start, trialDays, steps }) => {
        const model = new Model(start, trialDays);
        for (const taken of steps) act(model, taken);
        for (const { total } of model.invoices) {
          expect(Number.isSafeInteger(total)).toBe(true);
          expect(total).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: fc.runs(500) },
    );
  });

  it('costs as much with any upgrades within a period as their shares of it, within half a cent a line', () => {
    const upgrades = fc.array(fc.integer({ min: 0, max: 27 * 24 * 60 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(upgrades, (minutes) => {
        const account = begin(termsOf('STANDARD'));
        let billed = totalOf(invoicesOf(account).flatMap(({ lines }) => lines));
        const { period } = account.state;
        const whole = period.end.getTime() - period.start.getTime();
        let exact = 2_900;
        const ordered = [...new Set(minutes)].sort((a, b) => a - b);
        ordered.forEach((minute, index) => {
          const now = new Date(START.getTime() + minute * 60_000);
          const [from, to] = [account.state.terms.priceCents, termsOf('STANDARD', 'MONTHLY', index + 1)];
          account.change({ terms: to, trialEndsAt: null }, now);
          billed += totalOf(invoicesOf(account).flatMap(({ lines }) => lines));
          exact += ((to.priceCents - from) * (period.end.getTime() - now.getTime())) / whole;
        });
        expect(Math.abs(billed - exact)).toBeLessThanOrEqual(ordered.length);
      }),
    );
  });

  it('is the same whether it is looked at often or seldom', () => {
    fc.assert(
      fc.property(
        anyTerms,
        fc.constantFrom(0, 14),
        fc.array(fc.double({ min: 0, max: 20, noNaN: true }), { minLength: 1, maxLength: 40 }),
        (terms, trialDays, waits) => {
          const often = new Model(terms, trialDays).account;
          const seldom = new Model(terms, trialDays).account;
          let now = START;
          for (const days of waits) {
            now = daysAfter(now, Math.round(days * 1_000) / 1_000);
            often.advance(now, null);
            often.advance(now, null);
          }
          seldom.advance(now, null);
          expect(often.state).toEqual(seldom.state);
          expect(often.takeEffects()).toEqual(seldom.takeEffects());
        },
      ),
    );
  });
});
