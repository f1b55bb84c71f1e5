import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BillingFixture, startBilling } from '../billing.fixture.js';
import { AdvanceSubscriptions } from '../subscriptions/advance-subscriptions.task.js';
import { SubscriptionChanges } from '../subscriptions/subscription-changes.service.js';
import { ProjectAllowance } from './project-allowance.service.js';

describe('The first project', () => {
  let billing: BillingFixture;

  beforeAll(async () => {
    billing = await startBilling(new Date('2026-01-31T10:00:00.000Z'));
  });
  afterAll(() => billing.close());

  it('has the month of a tenant without a project wait until there is one to tell', async () => {
    const [tenant] = await billing.test.query<{ id: number }>(
      `insert into access.tenants (tenant_key, name, created_at, updated_at) values ('LATE', 'Late', now(), now()) returning id::int`,
    );
    const id = tenant?.id ?? 0;
    await billing.get(SubscriptionChanges).set(id, { tier: 'FREE' });
    await billing.get(AdvanceSubscriptions).run();
    expect(await billing.test.query('select 1 from platform.outbox')).toEqual([]);
    await billing.get(ProjectAllowance).admit(id);
    await billing.test.query(
      `with p as (insert into access.projects (tenant_id, project_key, name, sender_name, postal_address, created_at, updated_at)
         values ($1, 'LATE', 'Late', 'Late', 'x', now(), now()) returning id)
       insert into access.project_environments (project_id, environment) select id, 'LIVE' from p`,
      [id],
    );
    await billing.get(AdvanceSubscriptions).run();
    expect(await billing.test.query('select 1 from platform.outbox')).toHaveLength(1);
  });
});
