import { Injectable } from '@nestjs/common';
import { Database } from '#platform';
import { Plan, PLAN_TIERS, type PlanTier } from './plan.js';

/** Reads the versions of plans in the open transaction. */
@Injectable()
export class PlanRepository {
  constructor(private readonly database: Database) {}

  /** The plans that can be subscribed to, smallest first. */
  async onOffer(): Promise<Plan[]> {
    const plans = await this.database.em.find(Plan, { retiredAt: null });
    return plans.toSorted((a, b) => PLAN_TIERS.indexOf(a.tier) - PLAN_TIERS.indexOf(b.tier));
  }

  /** The version of a plan that can be subscribed to, or null. */
  currentOf(tier: PlanTier): Promise<Plan | null> {
    return this.database.em.findOne(Plan, { tier, retiredAt: null });
  }

  /** The version that a subscription was made with; of one that names none, the version on offer. */
  async ofSubscription(tier: PlanTier, versionId: number | null): Promise<Plan> {
    const own = versionId === null ? null : await this.database.em.findOne(Plan, { id: versionId });
    const plan = own?.tier === tier ? own : await this.currentOf(tier);
    if (plan === null) throw new Error(`There is no plan ${tier}. Run \`mailwright migrate\`.`);
    return plan;
  }
}
