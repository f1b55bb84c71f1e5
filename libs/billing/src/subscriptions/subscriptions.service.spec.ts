import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#kernel';
import { Database } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/database';
import { createProject } from '#testing/fixtures';
import { SubscriptionsQuery } from './subscriptions.query.js';
import { SubscriptionsService } from './subscriptions.service.js';

const START = new Date('2026-01-31T12:00:00.000Z');
const DAY_MS = 86_400_000;

describe('A subscription', () => {
  let test: TestDatabase;
  let database: Database;
  const clock = new ManualClock(START);

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({ url: test.url, poolSize: 2, applicationName: 'spec', entities: [] });
  });

  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  it('to the free plan is begun once and then goes on month by month', async () => {
    const { live, test: testScope } = await createProject(test);
    const subscriptions = new SubscriptionsQuery(database, clock);
    const service = new SubscriptionsService(database, clock);
    expect(await subscriptions.ofTenant(live)).toBeNull();
    await service.startFree(live.tenantId);
    clock.advance(30 * DAY_MS);
    await service.startFree(live.tenantId);
    const subscription = await subscriptions.ofTenant(testScope);
    expect(subscription).toMatchObject({
      planTier: 'FREE',
      status: 'ACTIVE',
      billingInterval: 'MONTHLY',
      isSendingAllowed: true,
      limits: { maxSubscribers: 10_000, maxProjects: 3, apiAccessEnabled: true, prioritySupport: false },
      anchoredAt: START,
      currentPeriod: {
        start: new Date('2026-02-28T12:00:00.000Z'),
        end: new Date('2026-03-31T12:00:00.000Z'),
      },
    });
  });

  it.each([
    ['TRIALING', true],
    ['ACTIVE', true],
    ['PAST_DUE', true],
    ['RESTRICTED', false],
    ['CANCELLED', false],
    ['EXPIRED', false],
  ])('that is %s: sending is allowed? %s', async (status, allowed) => {
    const { live } = await createProject(test);
    await new SubscriptionsService(database, clock).startFree(live.tenantId);
    await test.query(`update billing.subscriptions set status = $2 where tenant_id = $1`, [
      live.tenantId,
      status,
    ]);
    const subscription = await new SubscriptionsQuery(database, clock).ofTenant(live);
    expect(subscription?.isSendingAllowed).toBe(allowed);
  });
});
