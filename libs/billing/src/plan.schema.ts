import { defineEntity, p } from '@mikro-orm/postgresql';
import { Plan, type PlanLimits, type PlanTier, type PlanVariant } from './plan.js';

/** billing.plan_versions with their variants and prices. `billing.seed_plans` writes them, at a deployment. */
export const PlanSchema = defineEntity({
  class: Plan,
  tableName: 'plan_versions',
  schema: 'billing',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    tier: p.string().$type<PlanTier>(),
    version: p.integer(),
    name: p.text(),
    description: p.text(),
    limits: p.json<PlanLimits>(),
    retiredAt: p.datetime(3).nullable(),
    variants: p
      .json<PlanVariant[]>()
      .persist(false)
      .formula(
        ({ id }) => `(
          select coalesce(jsonb_agg(jsonb_build_object('id', v.id, 'aiCredits', v.ai_credits, 'prices', v.prices)
            order by v.ai_credits), '[]')
          from (
            select pv.id, pv.ai_credits, jsonb_agg(jsonb_build_object('currency', pp.currency,
              'monthlyCents', pp.monthly_cents, 'yearlyCents', pp.yearly_cents) order by pp.currency) as prices
            from billing.plan_variants pv join billing.plan_prices pp on pp.plan_variant_id = pv.id
            where pv.plan_version_id = ${id} group by pv.id
          ) v
        )`,
      ),
  },
});
