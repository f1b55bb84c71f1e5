import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { createProject } from '#testing/fixtures/fixtures';
import { isWaitingForLock } from '#testing/postgres/lock-waits';
import * as fc from '#testing/random/properties';
import { type BillingFixture, startBilling } from './billing.fixture.js';
import { EmailQuotaService, isEmailShortage } from './email-quota.service.js';
import { SubscriptionsService } from './subscriptions/subscriptions.service.js';

const START = new Date('2026-01-31T12:00:00.000Z');
const FREE_EMAILS = 50_000;

describe('The month’s e-mails', () => {
  let test: TestDatabase;
  let billing: BillingFixture;
  let database: Database;
  let quota: EmailQuotaService;
  let scope: ProjectScope;

  beforeAll(async () => {
    billing = await startBilling(START);
    ({ test, database } = billing);
    quota = billing.get(EmailQuotaService);
  });

  beforeEach(async () => {
    scope = (await createProject(test)).live;
    await billing.get(SubscriptionsService).startFree(scope.tenantId);
  });

  afterAll(async () => {
    await billing.close();
  });

  const usage = async () => {
    const [row] = await test.query<{ reserved: number; used: number }>(
      `select u.reserved::int - coalesce(sum(s.used + s.released - s.reserved), 0)::int as reserved, u.used::int + coalesce(sum(s.used), 0)::int as used
       from billing.email_usage u left join billing.email_settlements s using (tenant_id, period_start)
       where u.tenant_id = $1 group by u.reserved, u.used`,
      [scope.tenantId],
    );
    return row;
  };
  /** Holds a reservation open until `finish` is called. */
  const openReservation = async (emails: number) => {
    const reserved = Promise.withResolvers<void>();
    const ending = Promise.withResolvers<void>();
    const finished = database.transaction(scope, async () => {
      await quota.reserve(scope, emails, START);
      reserved.resolve();
      await ending.promise;
    });
    await reserved.promise;
    return async (end: 'commit' | 'roll back') => {
      if (end === 'commit') ending.resolve();
      else ending.reject(new Error('given up'));
      await finished.catch(() => undefined);
    };
  };

  /** Demands e-mails and ends with the transaction: false where the plan has no room for them. */
  const demand = async (emails: number, during: () => Promise<void> = () => Promise.resolve()) => {
    try {
      await database.transaction(scope, async () => {
        const [[plan]] = await database.together(quota.plan(scope));
        await database.together(quota.demand(scope, plan, emails, START).statement);
        await during();
      });
      return true;
    } catch (error) {
      if (isEmailShortage(error)) return false;
      throw error;
    }
  };

  it('are promised while the plan has room for all that is asked, and not one more', async () => {
    expect(await quota.remaining(scope, START)).toBe(FREE_EMAILS);
    expect(await quota.reserve(scope, 49_000, START)).toEqual({
      granted: true,
      periodStart: START,
      remaining: 1_000,
      isSendingAllowed: true,
    });
    expect(await quota.reserve(scope, 1_001, START)).toEqual({
      granted: false,
      periodStart: START,
      remaining: 1_000,
      isSendingAllowed: true,
    });
    expect(await quota.reserve(scope, 1_000, START)).toEqual({
      granted: true,
      periodStart: START,
      remaining: 0,
      isSendingAllowed: true,
    });
    expect(await quota.remaining(scope, START)).toBe(0);
  });

  it('are never overdrawn, however many campaigns are queued at once', async () => {
    const asked = Array.from({ length: 40 }, (_, index) => 2_000 + index);
    const answers = await Promise.all(asked.map((emails) => quota.reserve(scope, emails, START)));
    const granted = asked.reduce(
      (sum, emails, index) => sum + (answers[index]?.granted === true ? emails : 0),
      0,
    );
    expect(granted).toBeLessThanOrEqual(FREE_EMAILS);
    expect(granted).toBeGreaterThan(FREE_EMAILS - 2_040);
    expect(await usage()).toEqual({ reserved: granted, used: 0 });
  });

  it('come back when the campaign’s transaction is undone', async () => {
    const end = await openReservation(30_000);
    await end('roll back');
    expect(await quota.remaining(scope, START)).toBe(FREE_EMAILS);
  });

  it('are used when sent and free again when given up', async () => {
    await quota.reserve(scope, 100, START);
    await quota.settle(scope, START, { used: 60, released: 30 });
    expect(await usage()).toEqual({ reserved: 10, used: 60 });
    expect(await quota.remaining(scope, START)).toBe(FREE_EMAILS - 70);
  });

  it('are settled without waiting for a campaign that is being queued', async () => {
    await quota.reserve(scope, 50_000, START);
    const end = await openReservation(0);
    await quota.settle(scope, START, { used: 20, released: 10 });
    await quota.settle(scope, START, { used: 1, released: 2 });
    expect(await quota.remaining(scope, START)).toBe(12);
    await end('commit');
    expect(await usage()).toEqual({ reserved: 49_967, used: 21 });
    expect(await quota.reserve(scope, 13, START)).toMatchObject({ granted: false, remaining: 12 });
    expect(await quota.reserve(scope, 12, START)).toMatchObject({ granted: true, remaining: 0 });
    expect(await usage()).toEqual({ reserved: 49_979, used: 21 });
  });

  it('are counted for a campaign that waits for another one, as that one leaves them', async () => {
    const end = await openReservation(50_000);
    const second = quota.reserve(scope, 1, START);
    await eventually('the second campaign waits for the row', () => isWaitingForLock(test));
    await end('commit');
    expect(await second).toMatchObject({ granted: false, remaining: 0 });
  });

  it('are demanded by messages side by side, and counted by who waits for them', async () => {
    // The row of a period is made by the first of it alone.
    await quota.reserve(scope, 0, START);
    const open = Promise.withResolvers<void>();
    const demanded = Promise.withResolvers<void>();
    const first = demand(30, async () => {
      demanded.resolve();
      await open.promise;
    });
    await demanded.promise;
    expect(await demand(20)).toBe(true);
    expect(await quota.remaining(scope, START)).toBe(FREE_EMAILS - 20);
    const campaign = quota.reserve(scope, FREE_EMAILS - 40, START);
    await eventually('the campaign waits for the open demand', () => isWaitingForLock(test));
    open.resolve();
    expect(await first).toBe(true);
    expect(await campaign).toMatchObject({ granted: false, remaining: FREE_EMAILS - 50 });
    expect(await usage()).toEqual({ reserved: 50, used: 0 });
  });

  it('are demanded one at a time near the limit, and never more than there are', async () => {
    await quota.reserve(scope, FREE_EMAILS - 100, START);
    const asked = Array.from({ length: 40 }, (_, index) => 1 + (index % 7));
    const granted = await Promise.all(asked.map((emails) => demand(emails)));
    const sum = asked.reduce((total, emails, index) => total + (granted[index] === true ? emails : 0), 0);
    expect(sum).toBeGreaterThan(100 - 7);
    expect(await quota.remaining(scope, START)).toBe(100 - sum);
    expect(await demand(8)).toBe(false);
    expect(await usage()).toEqual({ reserved: FREE_EMAILS - 100 + sum, used: 0 });
  });

  it('add up when messages and campaigns ask for them at once, around the limit', async () => {
    const asked = fc.array(
      fc.record({ isCampaign: fc.boolean(), emails: fc.integer({ min: 1, max: 12_000 }) }),
      { minLength: 4, maxLength: 24 },
    );
    await fc.assert(
      fc.asyncProperty(asked, async (all) => {
        scope = (await createProject(test)).live;
        await billing.get(SubscriptionsService).startFree(scope.tenantId);
        const granted = await Promise.all(
          all.map(async ({ isCampaign, emails }) => {
            const wanted = isCampaign ? emails : Math.ceil(emails / 100);
            const isGranted = isCampaign
              ? (await quota.reserve(scope, wanted, START)).granted
              : await demand(wanted);
            return isGranted ? wanted : 0;
          }),
        );
        const sum = granted.reduce((total, emails) => total + emails, 0);
        expect(sum).toBeLessThanOrEqual(FREE_EMAILS);
        expect(await quota.remaining(scope, START)).toBe(FREE_EMAILS - sum);
        await quota.settle(scope, START, { used: sum, released: 0 });
        expect(await quota.remaining(scope, START)).toBe(FREE_EMAILS - sum);
      }),
      { numRuns: fc.runs(15) },
    );
  });

  it('begin anew with each month of the subscription', async () => {
    await quota.reserve(scope, 50_000, START);
    expect(await quota.remaining(scope, new Date('2026-02-28T11:59:59.999Z'))).toBe(0);
    const nextMonth = new Date('2026-02-28T12:00:00.000Z');
    expect(await quota.reserve(scope, 10, nextMonth)).toEqual({
      granted: true,
      periodStart: nextMonth,
      remaining: 49_990,
      isSendingAllowed: true,
    });
    await quota.settle(scope, START, { used: 49_000, released: 1_000 });
    expect(await quota.remaining(scope, START)).toBe(1_000);
    expect(await quota.remaining(scope, nextMonth)).toBe(49_990);
  });

  it('have no end on a plan without a limit, but are counted', async () => {
    await test.query(`update billing.subscriptions set plan_tier = 'PRO' where tenant_id = $1`, [
      scope.tenantId,
    ]);
    expect(await quota.reserve(scope, 3_000_000, START)).toMatchObject({
      granted: true,
      remaining: Infinity,
      isSendingAllowed: true,
    });
    expect(await quota.remaining(scope, START)).toBe(Infinity);
    expect(await usage()).toEqual({ reserved: 3_000_000, used: 0 });
  });

  it('are none for a tenant that may not send or has no subscription', async () => {
    await test.query(`update billing.subscriptions set status = 'RESTRICTED' where tenant_id = $1`, [
      scope.tenantId,
    ]);
    expect(await quota.remaining(scope, START)).toBe(0);
    expect(await quota.reserve(scope, 1, START)).toMatchObject({ granted: false, remaining: 0 });
    const stranger = (await createProject(test)).live;
    expect(await quota.remaining(stranger, START)).toBe(0);
    expect(await quota.reserve(stranger, 1, START)).toMatchObject({ granted: false, remaining: 0 });
  });

  it('of one tenant are not another’s', async () => {
    const other = (await createProject(test)).live;
    await billing.get(SubscriptionsService).startFree(other.tenantId);
    await quota.reserve(scope, 50_000, START);
    expect(await quota.remaining(other, START)).toBe(FREE_EMAILS);
  });

  it('refuse what is no number of e-mails', async () => {
    for (const emails of [-1, 0.5, Number.NaN, Infinity]) {
      await expect(quota.reserve(scope, emails, START)).rejects.toThrow(RangeError);
      await expect(quota.settle(scope, START, { used: emails, released: 1 })).rejects.toThrow(RangeError);
    }
  });

  it('add up after any order of reservations and settlements in parallel', async () => {
    const steps = fc.array(
      fc.record({
        emails: fc.integer({ min: 0, max: 20_000 }),
        used: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      {
        minLength: 1,
        maxLength: 8,
      },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (campaigns) => {
        const project = await createProject(test);
        scope = project.live;
        await billing.get(SubscriptionsService).startFree(scope.tenantId);
        const totals = { reserved: 0, used: 0 };
        await Promise.all(
          campaigns.map(async ({ emails, used: share }) => {
            const { granted, periodStart } = await quota.reserve(scope, emails, START);
            if (!granted) return;
            const used = Math.floor(emails * share);
            const released = Math.floor((emails - used) / 2);
            await quota.settle(scope, periodStart, { used, released });
            totals.reserved += emails - used - released;
            totals.used += used;
          }),
        );
        expect(await usage()).toEqual(totals);
        expect(await quota.remaining(scope, START)).toBe(FREE_EMAILS - totals.reserved - totals.used);
      }),
      { numRuns: fc.runs(15) },
    );
  });
});
