import { Injectable } from '@nestjs/common';
import { Clock } from '#kernel';
import { Database } from '#platform';
import type { BillingTables } from '../billing-tables.js';

/** Begins what tenants have subscribed to. */
@Injectable()
export class SubscriptionsService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Puts a tenant on the free plan from now on; a tenant that has a subscription keeps it. */
  async startFree(tenantId: number): Promise<void> {
    const now = this.clock.now();
    await this.database.system(() =>
      this.database
        .tables<BillingTables>()
        .insertInto('billing.subscriptions')
        .values((eb) => ({
          tenantId,
          planTier: 'FREE',
          planVersionId: eb.fn<number>('billing.plan_version_of', [eb.val('FREE'), eb.val(null)]),
          status: 'ACTIVE',
          billingInterval: 'MONTHLY',
          anchoredAt: now,
          createdAt: now,
          updatedAt: now,
        }))
        .onConflict((conflict) => conflict.column('tenantId').doNothing())
        .execute(),
    );
  }
}
