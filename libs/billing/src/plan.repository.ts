import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { Plan, PLAN_TIERS, type PlanTier } from './plan.js';

/** Reads the versions of plans in the open transaction. The catalogue is the same for every tenant. */
@Injectable()
export class PlanRepository {
  constructor(private readonly database: Database) {}

  /** The plans on offer, smallest first: in a transaction of a project's, or without one of the operator's. */
  async onOffer(scope?: ProjectScope): Promise<Plan[]> {
    const read = () => this.database.em.find(Plan, { retiredAt: null });
    const plans = await (scope === undefined
      ? this.database.system(read)
      : this.database.transaction(scope, read));
    return plans.toSorted((a, b) => PLAN_TIERS.indexOf(a.tier) - PLAN_TIERS.indexOf(b.tier));
  }

  /** The version of a plan that is on offer, or null. */
  currentOf(tier: PlanTier): Promise<Plan | null> {
    return this.database.em.findOne(Plan, { tier, retiredAt: null });
  }

  /** The version that a subscription was made with; the version on offer when it names none. */
  async ofSubscription(tier: PlanTier, versionId: number | null): Promise<Plan> {
    const own = versionId === null ? null : await this.database.em.findOne(Plan, { id: versionId });
    const plan = own?.tier === tier ? own : await this.currentOf(tier);
    if (plan === null) throw new Error(`There is no plan ${tier}. Run \`mailwright migrate\`.`);
    return plan;
  }
}
