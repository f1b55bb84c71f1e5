import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { PLAN_CATALOGUE } from '../plans/plan-catalogue.js';
import { billingPeriod } from './billing-period.js';
import { allowsSending, type Subscription } from './subscription.js';

type SubscriptionRow = Omit<Subscription, 'isSendingAllowed' | 'limits' | 'currentPeriod'>;

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
      const { rows } = await sql<SubscriptionRow>`
        select id, plan_tier as "planTier", status, billing_interval as "billingInterval",
          anchored_at as "anchoredAt", created_at as "createdAt", updated_at as "updatedAt"
        from billing.subscriptions
        where tenant_id = ${scope.tenantId}
      `.execute(db);
      return rows[0] === undefined ? null : complete(rows[0], this.clock.now());
    });
  }
}

function complete(row: SubscriptionRow, now: Date): Subscription {
  return {
    ...row,
    isSendingAllowed: allowsSending(row.status),
    limits: PLAN_CATALOGUE[row.planTier].limits,
    currentPeriod: billingPeriod(row.anchoredAt, now, row.billingInterval),
  };
}
