import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, prepared } from '#platform';
import { billingPeriod } from './billing-period.js';
import { allowsSending, type Subscription } from './subscription.js';

type SubscriptionRow = Omit<Subscription, 'isSendingAllowed' | 'currentPeriod'> & {
  readonly periodStart: Date | null;
  readonly periodEnd: Date | null;
};

/** Reads what a tenant has subscribed to. */
@Injectable()
export class SubscriptionsQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** The subscription of the scope's tenant, or null when it has none. */
  ofTenant(scope: ProjectScope): Promise<Subscription | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<SubscriptionRow>`${prepared}
        select s.id, s.plan_tier as "planTier", s.status, s.billing_interval as "billingInterval", s.currency,
          coalesce(s.ai_credits, (select min(pv.ai_credits) from billing.plan_variants pv
            where pv.plan_version_id = v.id), 0) as "aiCredits",
          s.pending_plan_tier as "pendingPlanTier", s.pending_ai_credits as "pendingAiCredits",
          s.cancelled_at as "cancelledAt", s.cancellation_reason as "cancellationReason",
          s.cancel_at_period_end as "cancelAtPeriodEnd", v.limits, s.anchored_at as "anchoredAt",
          s.current_period_start as "periodStart", s.current_period_end as "periodEnd",
          s.created_at as "createdAt", s.updated_at as "updatedAt"
        from billing.subscriptions s
        join billing.plan_versions v on v.id = billing.plan_version_of(s.plan_tier, s.plan_version_id)
        where s.tenant_id = ${scope.tenantId}
      `.execute(db);
      return rows[0] === undefined ? null : complete(rows[0], this.clock.now());
    });
  }
}

function complete({ periodStart, periodEnd, ...row }: SubscriptionRow, now: Date): Subscription {
  const isSendingAllowed = allowsSending(row.status);
  // A period that is over but for the worker's turn is not shown as the current one of a subscription that goes on.
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
  };
}
