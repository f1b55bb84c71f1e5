import { Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import type { AccessTables } from '#access';
import { Clock, type ProjectScope } from '#kernel';
import { Database, PreparedQuery } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import type { PlanTier } from '../plan.js';
import { type BillingInterval, billingPeriod } from './billing-period.js';
import { type AccountState, allowsSending, type SubscriptionStatus } from './subscription-account.js';
import type { CurrentSubscription, PaymentProviderName } from './subscription.js';

type SubscriptionRow = Omit<CurrentSubscription, 'isSendingAllowed' | 'currentPeriod' | 'currentMonth'> & {
  readonly periodStart: Date | null;
  readonly periodEnd: Date | null;
};

/** A subscription as the operator sees it. */
export interface SubscriptionReport extends Omit<
  AccountState,
  'terms' | 'pending' | 'anchoredAt' | 'period' | 'isRenewedElsewhere'
> {
  readonly tenantKey: string;
  readonly planTier: PlanTier;
  readonly planVersion: number;
  readonly billingInterval: BillingInterval;
  readonly aiCredits: number;
  readonly currency: string;
  readonly currentPeriodStart: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly pendingPlanTier: PlanTier | null;
  readonly pendingAiCredits: number | null;
  readonly pendingBillingInterval: BillingInterval | null;
  readonly provider: PaymentProviderName;
  readonly openInvoices: number;
}

/** Subscriptions `s` with the version `v` of the plan that each was made with, and the AI credits that it includes. */
function subscribed(tables: Kysely<AccessTables & BillingTables>) {
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

/** Prepared: every check of a plan's limit reads it. */
const OF_TENANT = new PreparedQuery(
  'subscription_of_tenant',
  (tables: Kysely<AccessTables & BillingTables>, tenantId: number) =>
    subscribed(tables)
      .select(['s.id', 's.planTier', 's.status', 's.billingInterval', 's.currency', 's.pendingPlanTier'])
      .select(['s.pendingAiCredits', 's.cancelledAt', 's.cancellationReason', 's.cancelAtPeriodEnd'])
      .select(['v.limits', 's.anchoredAt', 's.createdAt', 's.updatedAt'])
      .select(['s.currentPeriodStart as periodStart', 's.currentPeriodEnd as periodEnd'])
      .where('s.tenantId', '=', tenantId),
);

/** Reads tenants' subscriptions. */
@Injectable()
export class SubscriptionsQuery {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** The subscription of the scope's tenant, or null when it has none. */
  ofTenant(scope: ProjectScope): Promise<CurrentSubscription | null> {
    return this.database.transaction(scope, async () => {
      const [row] = await OF_TENANT.run(this.database.tables(), scope.tenantId);
      return row === undefined ? null : complete(row, this.clock.now());
    });
  }

  /** The operator's view of a tenant's subscription, or null when it has none. */
  report(tenantId: number): Promise<SubscriptionReport | null> {
    return this.database.system(async () => {
      const report = await subscribed(this.database.tables())
        .innerJoin('access.tenants as t', 't.id', 's.tenantId')
        .select(['t.tenantKey', 's.planTier', 'v.version as planVersion', 's.status', 's.billingInterval'])
        .select(['s.currency', 's.currentPeriodStart', 's.currentPeriodEnd', 's.trialEndsAt'])
        .select([
          's.pendingPlanTier',
          's.pendingAiCredits',
          's.pendingBillingInterval',
          's.cancelAtPeriodEnd',
        ])
        .select([
          's.cancelledAt',
          's.cancellationReason',
          's.pastDueSince',
          's.restrictedSince',
          's.endedAt',
          's.provider',
        ])
        .select((eb) =>
          eb
            .selectFrom('billing.invoices as i')
            .select(eb.fn.countAll<number>().as('count'))
            .whereRef('i.subscriptionId', '=', 's.id')
            .where('i.status', '=', sql.lit('OPEN'))
            .$asScalar()
            .$notNull()
            .as('openInvoices'),
        )
        .where('s.tenantId', '=', tenantId)
        .executeTakeFirst();
      return report ?? null;
    });
  }

  /** Plan and status of subscriptions by tenant id, of these tenants or of all, for the operator. */
  plansByTenant(
    tenantIds?: readonly number[],
  ): Promise<ReadonlyMap<number, { readonly planTier: PlanTier; readonly status: SubscriptionStatus }>> {
    return this.database.system(async () => {
      const all = subscribed(this.database.tables()).select(['s.tenantId', 's.planTier', 's.status']);
      const rows = await (tenantIds === undefined ? all : all.where('s.tenantId', 'in', tenantIds)).execute();
      return new Map(rows.map(({ tenantId, ...plan }) => [tenantId, plan]));
    });
  }
}

function complete({ periodStart, periodEnd, ...row }: SubscriptionRow, now: Date): CurrentSubscription {
  const isSendingAllowed = allowsSending(row.status);
  // A stored period may be over before the worker renews it; a subscription that goes on shows the next one.
  const isStored =
    periodStart !== null &&
    periodEnd !== null &&
    (periodEnd > now || !isSendingAllowed || row.cancelAtPeriodEnd);
  return {
    ...row,
    isSendingAllowed,
    currentPeriod: isStored
      ? { start: periodStart, end: periodEnd }
      : billingPeriod(row.anchoredAt, now, row.billingInterval),
    currentMonth: billingPeriod(row.anchoredAt, now),
  };
}
