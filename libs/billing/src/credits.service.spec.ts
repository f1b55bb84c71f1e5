import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DomainValidationError, newId, type ProjectScope } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import type { TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import * as fc from '#testing/random/properties';
import { type BillingFixture, startBilling } from './billing.fixture.js';
import type { CreditReservation } from './credit.js';
import { CreditsQuery } from './credits.query.js';
import { CreditsService } from './credits.service.js';
import { billingPeriod } from './subscriptions/billing-period.js';
import { SubscriptionsService } from './subscriptions/subscriptions.service.js';

const START = new Date('2026-01-31T12:00:00.000Z');
const HOUR_MS = 3_600_000;
const MONTHS = [START, new Date('2026-02-28T12:00:00.000Z')] as const;

describe('AI credits', () => {
  let test: TestDatabase;
  let billing: BillingFixture;
  let clock: ManualClock;
  let credits: CreditsService;
  let query: CreditsQuery;
  let scope: ProjectScope;

  beforeAll(async () => {
    billing = await startBilling(START);
    test = billing.test;
    query = billing.get(CreditsQuery);
    credits = billing.get(CreditsService);
  });

  beforeEach(async () => {
    clock = new ManualClock(START);
    billing.clock = clock;
    scope = await subscriber();
  });

  afterAll(async () => {
    expect(await query.discrepancies()).toEqual([]);
    await billing.close();
  });

  /** A tenant whose plan does not bound its AI requests. */
  async function subscriber(plan = 'PRO'): Promise<ProjectScope> {
    const { live } = await createProject(test);
    await billing.get(SubscriptionsService).startFree(live.tenantId);
    await test.query('update billing.subscriptions set plan_tier = $2 where tenant_id = $1', [
      live.tenantId,
      plan,
    ]);
    return live;
  }

  const give = (amount: number, type: 'GRANT' | 'PURCHASE' | 'ADJUSTMENT' = 'PURCHASE') =>
    credits.add(scope.tenantId, { type, credits: amount });
  const grantMonth = (month: 0 | 1, amount: number) => credits.grantMonth(scope, MONTHS[month], amount);
  const reserve = (amount: number, heldForMs = HOUR_MS) =>
    credits.reserve(scope, { credits: amount, referenceId: newId(), description: 'A report', heldForMs });
  const idOf = (reservation: CreditReservation): string => {
    if (!reservation.reserved) throw new Error(`Nothing was reserved: ${reservation.lacking}.`);
    return reservation.id;
  };
  const use = async (amount: number) => credits.settle(scope, idOf(await reserve(amount)), amount);
  /** Entries of the ledger, oldest first: type, amount, balance after it. */
  const ledger = async () => {
    const { items } = await query.transactions(scope, { page: 0, size: 100 });
    return items.map(({ type, amount, balanceAfter }) => [type, amount, balanceAfter]).toReversed();
  };
  const depletions = () =>
    test.query(
      `select 1 from platform.jobs where name = 'credits.warn_of_depletion' and environment_id = $1`,
      [scope.environmentId],
    );
  /** Part of the balance that lapses with the month. */
  const lapsing = async () =>
    (
      await test.query<{ monthly: number }>(
        'select monthly::int from billing.credit_accounts where tenant_id = $1',
        [scope.tenantId],
      )
    )[0]?.monthly;

  it('are none before the first transaction', async () => {
    expect(await query.balance(scope)).toEqual({ balance: 0, creditsDepleted: true, lastUpdatedAt: null });
    expect(await query.transactions(scope, { page: 0, size: 20 })).toEqual({
      items: [],
      totalElements: 0,
      next: null,
    });
    expect(await reserve(1)).toEqual({ reserved: false, lacking: 'credits' });
  });

  it('are set aside before the work, and what it does not use comes back', async () => {
    await give(100);
    const reservation = idOf(await reserve(40));
    expect(await query.balance(scope)).toMatchObject({ balance: 60, creditsDepleted: false });
    expect(await credits.settle(scope, reservation, 15)).toBe(true);
    expect(await ledger()).toEqual([
      ['PURCHASE', 100, 100],
      ['CONSUMPTION', -40, 60],
      ['REFUND', 25, 85],
    ]);
    expect(await query.since(scope, START)).toBe(15);
    expect(await query.since(scope, MONTHS[1])).toBe(0);
  });

  it('all come back when the work fails, once', async () => {
    await give(10);
    const reservation = idOf(await reserve(10));
    expect(await credits.settle(scope, reservation, 0)).toBe(true);
    expect(await credits.settle(scope, reservation, 0)).toBe(false);
    expect(await credits.settle(scope, reservation, 10)).toBe(false);
    expect(await ledger()).toEqual([
      ['PURCHASE', 10, 10],
      ['CONSUMPTION', -10, 0],
      ['REFUND', 10, 10],
    ]);
  });

  it('are never taken beyond what was set aside', async () => {
    await give(10);
    await credits.settle(scope, idOf(await reserve(4)), 9);
    expect(await ledger()).toEqual([
      ['PURCHASE', 10, 10],
      ['CONSUMPTION', -4, 6],
    ]);
  });

  it('come back by themselves when the worker that had set them aside never returns', async () => {
    await give(10);
    const reservation = idOf(await reserve(10));
    clock.advance(HOUR_MS - 1);
    await credits.expire();
    expect(await query.balance(scope)).toMatchObject({ balance: 0 });
    clock.advance(1);
    await credits.expire();
    await credits.expire();
    expect(await query.balance(scope)).toMatchObject({ balance: 10, creditsDepleted: false });
    expect(await credits.settle(scope, reservation, 3)).toBe(false);
  });

  it('are never overdrawn by fifty consumers at once, and each row says what was left after it', async () => {
    await give(100);
    const results = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const wanted = 3 + (index % 5);
        const reservation = await reserve(wanted);
        if (!reservation.reserved) return 0;
        const cost = index % (wanted + 1);
        await credits.settle(scope, reservation.id, cost);
        return cost;
      }),
    );
    const used = results.reduce((sum, cost) => sum + cost, 0);
    const { items, totalElements } = await query.transactions(scope, { page: 0, size: 100 });
    expect(totalElements).toBe(items.length);
    let sum = 0;
    for (const { amount, balanceAfter } of items.toReversed()) {
      sum += amount;
      expect(balanceAfter).toBe(sum);
      expect(sum).toBeGreaterThanOrEqual(0);
    }
    expect(sum).toBe(100 - used);
    expect(await query.balance(scope)).toMatchObject({ balance: 100 - used });
  });

  it('of a balance of twenty, fifty consumers at once get exactly twenty', async () => {
    await give(20);
    const answers = await Promise.all(Array.from({ length: 50 }, () => reserve(1)));
    expect(answers.filter(({ reserved }) => reserved)).toHaveLength(20);
    expect(await query.balance(scope)).toMatchObject({ balance: 0, creditsDepleted: true });
  });

  it('that came with the month are used first and lapse with it; bought ones stay', async () => {
    await give(50);
    expect(await grantMonth(0, 30)).toBe(30);
    await use(10);
    expect(await lapsing()).toBe(20);
    clock.advance(MONTHS[1].getTime() - START.getTime());
    await credits.expire();
    await credits.expire();
    expect(await ledger()).toEqual([
      ['PURCHASE', 50, 50],
      ['GRANT', 30, 80],
      ['CONSUMPTION', -10, 70],
      ['EXPIRATION', -20, 50],
    ]);
    await use(50);
    expect(await query.balance(scope)).toMatchObject({ balance: 0 });
  });

  it('of a month are granted once, and replace what the month before left', async () => {
    const granted = await Promise.all(Array.from({ length: 8 }, () => grantMonth(0, 30)));
    expect(granted.toSorted((a, b) => b - a)).toEqual([30, 0, 0, 0, 0, 0, 0, 0]);
    clock.advance(MONTHS[1].getTime() - START.getTime());
    expect(await grantMonth(1, 30)).toBe(30);
    expect(await grantMonth(1, 30)).toBe(0);
    // An old month's news that comes late.
    expect(await grantMonth(0, 90)).toBe(0);
    expect(await ledger()).toEqual([
      ['GRANT', 30, 30],
      ['EXPIRATION', -30, 0],
      ['GRANT', 30, 30],
    ]);
  });

  it('of a month grow by the difference when the subscription is upgraded, and never shrink', async () => {
    await grantMonth(0, 30);
    await use(25);
    expect(await grantMonth(0, 100)).toBe(70);
    expect(await grantMonth(0, 50)).toBe(0);
    expect(await lapsing()).toBe(75);
  });

  it('of a month that was over before anybody granted them are not granted', async () => {
    clock.advance(MONTHS[1].getTime() - START.getTime());
    expect(await grantMonth(0, 30)).toBe(0);
    expect(await ledger()).toEqual([]);
  });

  it('that come back after their month lapse at once', async () => {
    await give(5);
    await grantMonth(0, 10);
    const reservation = idOf(await reserve(12));
    clock.advance(MONTHS[1].getTime() - START.getTime());
    await grantMonth(1, 10);
    await credits.settle(scope, reservation, 4);
    expect((await ledger()).slice(2)).toEqual([
      ['CONSUMPTION', -12, 3],
      ['GRANT', 10, 13],
      ['REFUND', 8, 21],
      ['EXPIRATION', -6, 15],
    ]);
    expect(await lapsing()).toBe(10);
  });

  it('cannot be used when their month is over, though nobody has ended it yet', async () => {
    await grantMonth(0, 10);
    clock.advance(MONTHS[1].getTime() - START.getTime());
    expect(await reserve(1)).toEqual({ reserved: false, lacking: 'credits' });
  });

  it('are bounded by the AI requests of the plan’s month', async () => {
    scope = await subscriber('FREE');
    await give(1_000);
    const answers = await Promise.all(Array.from({ length: 55 }, () => reserve(1)));
    expect(answers.filter(({ reserved }) => reserved)).toHaveLength(50);
    expect(await reserve(1)).toEqual({ reserved: false, lacking: 'requests' });
    clock.advance(MONTHS[1].getTime() - START.getTime());
    expect(await reserve(1)).toMatchObject({ reserved: true });
  });

  it('tell once that there are too few, and again only after there were enough', async () => {
    await give(5);
    await reserve(6);
    await reserve(9);
    expect(await query.balance(scope)).toMatchObject({ balance: 5, creditsDepleted: true });
    expect(await depletions()).toHaveLength(1);
    await give(1);
    expect(await query.balance(scope)).toMatchObject({ balance: 6, creditsDepleted: true });
    await give(3);
    expect(await query.balance(scope)).toMatchObject({ balance: 9, creditsDepleted: false });
    await use(9);
    expect(await query.balance(scope)).toMatchObject({ balance: 0, creditsDepleted: true });
    await reserve(1);
    expect(await depletions()).toHaveLength(2);
  });

  it('are not called depleted while the rest is only set aside', async () => {
    await give(5);
    const reservation = idOf(await reserve(5));
    await credits.settle(scope, reservation, 2);
    expect(await depletions()).toHaveLength(0);
  });

  it('of one purchase are added once', async () => {
    const purchase = { type: 'PURCHASE', credits: 10, onceKey: 'invoice/7' } as const;
    const added = await Promise.all(Array.from({ length: 5 }, () => credits.add(scope.tenantId, purchase)));
    expect(added.filter((transaction) => transaction !== null)).toHaveLength(1);
    expect(await query.balance(scope)).toMatchObject({ balance: 10 });
  });

  it('are adjusted by the operator, but not below zero', async () => {
    await give(10);
    await give(-4, 'ADJUSTMENT');
    await expect(give(-7, 'ADJUSTMENT')).rejects.toThrow(DomainValidationError);
    await expect(give(-1, 'GRANT')).rejects.toThrow(DomainValidationError);
    await expect(give(0)).rejects.toThrow(DomainValidationError);
    await expect(give(1.5)).rejects.toThrow(DomainValidationError);
    expect(await query.balance(scope)).toMatchObject({ balance: 6 });
  });

  it('are listed newest first, without a row twice or missed', async () => {
    for (let n = 1; n <= 7; n += 1) await give(n);
    const pages = await Promise.all([0, 1, 2, 3].map((page) => query.transactions(scope, { page, size: 3 })));
    expect(pages.map(({ items }) => items.map(({ amount }) => amount))).toEqual([
      [7, 6, 5],
      [4, 3, 2],
      [1],
      [],
    ]);
    expect(new Set(pages.map(({ totalElements }) => totalElements))).toEqual(new Set([7]));
  });

  it('of one tenant are not another’s', async () => {
    await give(10);
    const other = await subscriber();
    expect(await query.balance(other)).toMatchObject({ balance: 0 });
    const reservation = idOf(await reserve(3));
    expect(await credits.settle(other, reservation, 0)).toBe(false);
    expect((await query.transactions(other, { page: 0, size: 20 })).items).toEqual([]);
  });

  it.each([
    ['changing a row', 'update billing.credit_transactions set amount = 1'],
    ['removing a row', 'delete from billing.credit_transactions'],
    ['emptying it', 'truncate billing.credit_transactions'],
    ['moving the balance past it', 'update billing.credit_accounts set balance = 1000000'],
  ])('have a ledger that refuses %s to everybody', async (_, statement) => {
    await give(10);
    await expect(test.query(statement)).rejects.toThrow('only ever added to');
    for (const role of ['mailwright_app', 'mailwright_system']) {
      const asRole = `set local role ${role}; set local mailwright.tenant_id = '${scope.tenantId}'`;
      await expect(test.query(`${asRole}; ${statement}`)).rejects.toThrow(
        /permission denied|only ever added to/,
      );
    }
  });

  it('add up after any order of grants, reservations, settlements and passing time', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('give' as const), amount: fc.integer({ min: 1, max: 50 }) }),
      fc.record({ kind: fc.constant('month' as const), amount: fc.integer({ min: 1, max: 50 }) }),
      fc.record({ kind: fc.constant('reserve' as const), amount: fc.integer({ min: 1, max: 40 }) }),
      fc.record({ kind: fc.constant('settle' as const), amount: fc.integer({ min: 0, max: 40 }) }),
      fc.record({ kind: fc.constant('wait' as const), amount: fc.integer({ min: 1, max: 40 * 24 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        scope = await subscriber();
        const open: string[] = [];
        for (const { kind, amount } of steps) {
          if (kind === 'give') await give(amount);
          else if (kind === 'wait') {
            clock.advance(amount * HOUR_MS);
            await credits.expire();
          } else if (kind === 'month') {
            await credits.grantMonth(scope, billingPeriod(START, clock.now()).start, amount);
          } else if (kind === 'reserve') {
            const reservation = await reserve(amount, 24 * HOUR_MS);
            if (reservation.reserved) open.push(reservation.id);
          } else {
            const id = open.shift();
            if (id !== undefined) await credits.settle(scope, id, amount);
          }
        }
        const rows = (await query.transactions(scope, { page: 0, size: 100 })).items.toReversed();
        let sum = 0;
        for (const { amount, balanceAfter } of rows) expect(balanceAfter).toBe((sum += amount));
        expect(await query.balance(scope)).toMatchObject({ balance: sum });
      }),
      { numRuns: fc.runs(15) },
    );
    expect(await query.discrepancies()).toEqual([]);
  });
});
