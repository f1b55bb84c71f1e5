import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { UNLIMITED } from '../plans/plan.js';
import { billingPeriod } from '../subscriptions/billing-period.js';
import { SubscriptionsQuery } from '../subscriptions/subscriptions.query.js';
import { PlanLimitReachedError } from './plan-limit.errors.js';

/**
 * Counts the campaigns that a tenant makes in a month and keeps them within its plan. One that is deleted counts on,
 * and the test environment has no limit.
 */
@Injectable()
export class CampaignAllowance {
  constructor(
    private readonly database: Database,
    private readonly subscriptions: SubscriptionsQuery,
  ) {}

  /**
   * Lets one more campaign be made in the caller's transaction; the tenant's next one waits until it ends. Throws
   * `PlanLimitReachedError`.
   */
  async admit(scope: ProjectScope, now: Date): Promise<void> {
    if (scope.environment !== 'LIVE') return;
    const subscription = await this.subscriptions.ofTenant(scope);
    const max = subscription?.limits.maxCampaignsPerMonth ?? 0;
    const periodStart = billingPeriod(subscription?.anchoredAt ?? now, now).start;
    const isCounted = max !== 0 && (await this.#count(scope, periodStart, max));
    if (!isCounted) throw new PlanLimitReachedError(max, 'campaigns a month');
  }

  #count(scope: ProjectScope, periodStart: Date, max: number): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const { numInsertedOrUpdatedRows } = await this.database
        .tables<BillingTables>()
        .insertInto('billing.campaign_usage')
        .values({ tenantId: scope.tenantId, periodStart, campaigns: 1 })
        .onConflict((conflict) => {
          const one = conflict
            .columns(['tenantId', 'periodStart'])
            .doUpdateSet(({ eb }) => ({ campaigns: eb('billing.campaign_usage.campaigns', '+', 1) }));
          return max === UNLIMITED ? one : one.where('billing.campaign_usage.campaigns', '<', max);
        })
        .executeTakeFirstOrThrow();
      return numInsertedOrUpdatedRows === 1n;
    });
  }
}
