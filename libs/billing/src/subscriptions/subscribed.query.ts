import type { Kysely } from 'kysely';
import type { AccessTables } from '#access';
import type { BillingTables } from '../billing-tables.js';

/** Subscriptions `s` with the version `v` of the plan that each was made with, and the AI credits that it includes. */
export function subscribed(tables: Kysely<AccessTables & BillingTables>) {
  return tables
    .selectFrom('billing.subscriptions as s')
    .innerJoin('billing.plan_versions as v', (join) =>
      join.on(({ eb, fn }) =>
        eb('v.id', '=', fn<number>('billing.plan_version_of', ['s.planTier', 's.planVersionId'])),
      ),
    )
    .select((eb) => {
      const fewest = eb
        .selectFrom('billing.plan_variants as pv')
        .select(({ fn }) => fn.min('pv.aiCredits').as('aiCredits'))
        .whereRef('pv.planVersionId', '=', 'v.id');
      return eb.fn.coalesce('s.aiCredits', fewest, eb.lit(0)).as('aiCredits');
    });
}
