import { Injectable } from '@nestjs/common';
import { Database } from '#platform';
import type { PlanTier } from '../plans/plan.js';
import type { AccountState } from './account-state.js';
import type { BillingInterval } from './billing-period.js';
import { subscribed } from './subscribed.query.js';
import type { SubscriptionStatus } from './subscription-status.js';
import type { PaymentProviderName } from './subscription.js';

/** What the operator wants to know of a subscription. */
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

/** Reads a subscription for the operator. */
@Injectable()
export class SubscriptionReportQuery {
  constructor(private readonly database: Database) {}

  /** Null when the tenant has none. */
  ofTenant(tenantId: number): Promise<SubscriptionReport | null> {
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
        .select(['s.cancelledAt', 's.cancellationReason', 's.pastDueSince', 's.restrictedSince', 's.endedAt'])
        .select(['s.provider'])
        .select((eb) =>
          eb
            .selectFrom('billing.invoices as i')
            .select(eb.fn.countAll<number>().as('count'))
            .whereRef('i.subscriptionId', '=', 's.id')
            .where('i.status', '=', 'OPEN')
            .$asScalar()
            .$notNull()
            .as('openInvoices'),
        )
        .where('s.tenantId', '=', tenantId)
        .executeTakeFirst();
      return report ?? null;
    });
  }

  /** Plan and status of every subscription by its tenant’s id. */
  all(): Promise<ReadonlyMap<number, { readonly planTier: PlanTier; readonly status: SubscriptionStatus }>> {
    return this.database.system(async () => {
      const rows = await subscribed(this.database.tables())
        .select(['s.tenantId', 's.planTier', 's.status'])
        .execute();
      return new Map(rows.map(({ tenantId, ...plan }) => [tenantId, plan]));
    });
  }
}
