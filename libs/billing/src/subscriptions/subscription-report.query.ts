import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '#platform';
import type { PlanTier } from '../plans/plan.js';
import type { BillingInterval } from './billing-period.js';
import type { PaymentProviderName } from './subscription.repository.js';
import type { SubscriptionStatus } from './subscription.js';

/** What the operator wants to know of a subscription. */
export interface SubscriptionReport {
  readonly tenantKey: string;
  readonly planTier: PlanTier;
  readonly planVersion: number;
  readonly status: SubscriptionStatus;
  readonly billingInterval: BillingInterval;
  readonly aiCredits: number;
  readonly currency: string;
  readonly currentPeriodStart: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly trialEndsAt: Date | null;
  readonly pendingPlanTier: PlanTier | null;
  readonly pendingAiCredits: number | null;
  readonly pendingBillingInterval: BillingInterval | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly cancelledAt: Date | null;
  readonly cancellationReason: string | null;
  readonly pastDueSince: Date | null;
  readonly restrictedSince: Date | null;
  readonly endedAt: Date | null;
  readonly provider: PaymentProviderName;
  readonly openInvoices: number;
}

/** Reads a subscription for the operator. */
@Injectable()
export class SubscriptionReportQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Null when the tenant has none. */
  ofTenant(tenantId: number): Promise<SubscriptionReport | null> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<SubscriptionReport>`
        select t.tenant_key as "tenantKey", s.plan_tier as "planTier", v.version as "planVersion", s.status,
          s.billing_interval as "billingInterval", coalesce(s.ai_credits, (select min(pv.ai_credits)
            from billing.plan_variants pv where pv.plan_version_id = v.id)) as "aiCredits",
          s.currency, s.current_period_start as "currentPeriodStart", s.current_period_end as "currentPeriodEnd",
          s.trial_ends_at as "trialEndsAt", s.pending_plan_tier as "pendingPlanTier",
          s.pending_ai_credits as "pendingAiCredits", s.pending_billing_interval as "pendingBillingInterval",
          s.cancel_at_period_end as "cancelAtPeriodEnd", s.cancelled_at as "cancelledAt",
          s.cancellation_reason as "cancellationReason", s.past_due_since as "pastDueSince",
          s.restricted_since as "restrictedSince", s.ended_at as "endedAt", s.provider,
          (select count(*) from billing.invoices i where i.subscription_id = s.id and i.status = 'OPEN') as "openInvoices"
        from billing.subscriptions s
        join access.tenants t on t.id = s.tenant_id
        join billing.plan_versions v on v.id = billing.plan_version_of(s.plan_tier, s.plan_version_id)
        where s.tenant_id = ${tenantId}
      `.execute(db);
      return rows[0] ?? null;
    });
  }
}
