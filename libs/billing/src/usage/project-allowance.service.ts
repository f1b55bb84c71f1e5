import { Injectable } from '@nestjs/common';
import { TenantsQuery } from '#access';
import { UNLIMITED } from '../plans/plan.js';
import { PlanRepository } from '../plans/plan.repository.js';
import { SubscriptionAccounts } from '../subscriptions/subscription-accounts.service.js';
import { PlanLimitReachedError } from './plan-limit.errors.js';

/** Keeps a tenant within its plan's number of projects. */
@Injectable()
export class ProjectAllowance {
  constructor(
    private readonly accounts: SubscriptionAccounts,
    private readonly plans: PlanRepository,
    private readonly tenants: TenantsQuery,
  ) {}

  /**
   * Lets one more project be made in the caller's transaction of the system; another one waits until it ends. With the
   * first one the tenant gets the credits of its month. Throws `PlanLimitReachedError`, or `NotFoundError` when the
   * tenant has no subscription.
   */
  async admit(tenantId: number): Promise<void> {
    await this.accounts.change(tenantId, async ({ account }) => {
      const { tier, planVersionId } = account.state.terms;
      const { maxProjects } = (await this.plans.ofSubscription(tier, planVersionId)).limits;
      if (maxProjects === UNLIMITED || (await this.tenants.projectsOf(tenantId)) < maxProjects) return;
      throw new PlanLimitReachedError(maxProjects, 'projects');
    });
    await this.accounts.expectProject(tenantId);
  }
}
