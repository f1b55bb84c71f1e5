import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, type Sql } from '#platform';
import type { Plan, PlanTier } from './plan.js';

/** Reads the plan catalogue. It is the same for every tenant. */
@Injectable()
export class PlansQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** The plans that can be subscribed to, smallest first. */
  onOffer(): Promise<Plan[]> {
    return plansWhere(this.database.unscoped, sql`v.retired_at is null`);
  }

  /** The version of a plan that can be subscribed to, or null, read in the caller's transaction. */
  async currentOf(db: Sql, tier: PlanTier): Promise<Plan | null> {
    return (await plansWhere(db, sql`v.retired_at is null and v.tier = ${tier}`))[0] ?? null;
  }

  /** The version that a subscription was made with; of one that names none, the version on offer. */
  async ofSubscription(db: Sql, tier: PlanTier, versionId: number | null): Promise<Plan> {
    const [plan] = await plansWhere(db, sql`v.id = billing.plan_version_of(${tier}, ${versionId})`);
    if (plan === undefined) throw new Error(`There is no plan ${tier}. Run \`mailwright migrate\`.`);
    return plan;
  }
}

async function plansWhere(db: Sql, condition: RawBuilder<unknown>): Promise<Plan[]> {
  const { rows } = await sql<Plan>`
    select v.id, v.tier, v.version, v.name, v.description, v.limits, x.variants
    from billing.plan_versions v
    cross join lateral (
      select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'aiCredits', p.ai_credits, 'prices', p.prices)
        order by p.ai_credits), '[]') as variants
      from (
        select pv.id, pv.ai_credits, jsonb_agg(jsonb_build_object('currency', pp.currency,
          'monthlyCents', pp.monthly_cents, 'yearlyCents', pp.yearly_cents) order by pp.currency) as prices
        from billing.plan_variants pv join billing.plan_prices pp on pp.plan_variant_id = pv.id
        where pv.plan_version_id = v.id group by pv.id
      ) p
    ) x
    where ${condition}
    order by array_position(array['FREE', 'STANDARD', 'PRO'], v.tier)
  `.execute(db);
  return rows;
}
