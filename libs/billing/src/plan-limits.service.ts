import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { TenantsService } from '#access';
import { DomainError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { BillingTables } from './billing-tables.js';
import { type PlanLimits, UNLIMITED } from './plan.js';
import { PlanRepository } from './plan.repository.js';
import { billingPeriod } from './subscriptions/billing-period.js';
import { SubscriptionAccountsService } from './subscriptions/subscription-accounts.service.js';
import { SubscriptionsQuery } from './subscriptions/subscriptions.query.js';

/** A feature that a plan includes or not: `customFields` is its limit `customFieldsEnabled`. */
type PlanFeature = {
  [Name in keyof PlanLimits]: Name extends `${infer Feature}Enabled` ? Feature : never;
}[keyof PlanLimits];

/** The plan allows no more of something. */
export class PlanLimitReachedError extends DomainError {
  override readonly code = 'domain-validation';

  /** `what` in the words of the message: `projects`, `campaigns a month`. */
  constructor(
    readonly limit: number,
    readonly what: string,
  ) {
    super(`The plan’s limit of ${limit} ${what} is reached.`);
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { errors: { plan: `the plan's limit of ${this.limit} ${this.what} is reached` } };
  }
}

/** Keeps a tenant within its plan. A tenant without a subscription may have nothing. */
@Injectable()
export class PlanLimitsService {
  constructor(
    private readonly database: Database,
    private readonly subscriptions: SubscriptionsQuery,
    private readonly accounts: SubscriptionAccountsService,
    private readonly plans: PlanRepository,
    private readonly tenants: TenantsService,
  ) {}

  async allows(scope: ProjectScope, feature: PlanFeature): Promise<boolean> {
    return (await this.subscriptions.ofTenant(scope))?.limits[`${feature}Enabled`] ?? false;
  }

  /** SQL: subscribers allowed in the live environments of all projects of the tenant; −1 is unlimited (`UNLIMITED`). */
  maxSubscribers({ tenantId }: ProjectScope): RawBuilder<number> {
    return sql<number>`coalesce((
      select (v.limits ->> 'maxSubscribers')::bigint from billing.subscriptions s
      join billing.plan_versions v on v.id = billing.plan_version_of(s.plan_tier, s.plan_version_id)
      where s.tenant_id = ${tenantId}
    ), 0)`;
  }

  /**
   * Counts one more campaign of the month in the caller's transaction; the tenant's next one waits until it ends. A deleted
   * one counts on, and the test environment has no limit. Throws `PlanLimitReachedError`.
   */
  async admitCampaign(scope: ProjectScope, now: Date): Promise<void> {
    if (scope.environment !== 'LIVE') return;
    const subscription = await this.subscriptions.ofTenant(scope);
    const max = subscription?.limits.maxCampaignsPerMonth ?? 0;
    const periodStart = billingPeriod(subscription?.anchoredAt ?? now, now).start;
    const isCounted = max !== 0 && (await this.#countCampaign(scope, periodStart, max));
    if (!isCounted) throw new PlanLimitReachedError(max, 'campaigns a month');
  }

  /**
   * Admits one more project in the caller's transaction of the system; another one waits until it ends. The first one brings
   * the credits of the month. Throws `PlanLimitReachedError`, or `NotFoundError` when the tenant has no subscription.
   */
  async admitProject(tenantId: number): Promise<void> {
    await this.accounts.change(tenantId, async ({ account }) => {
      const { tier, planVersionId } = account.state.terms;
      const { maxProjects } = (await this.plans.ofSubscription(tier, planVersionId)).limits;
      if (maxProjects === UNLIMITED || (await this.tenants.projectsOf(tenantId)) < maxProjects) return;
      throw new PlanLimitReachedError(maxProjects, 'projects');
    });
    await this.accounts.expectProject(tenantId);
  }

  #countCampaign(scope: ProjectScope, periodStart: Date, max: number): Promise<boolean> {
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
