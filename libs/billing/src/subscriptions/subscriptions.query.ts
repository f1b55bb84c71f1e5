import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { AccessTables } from '#access';
import { Clock, type ProjectScope } from '#kernel';
import { Database, PreparedQuery } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { billingPeriod } from './billing-period.js';
import { subscribed } from './subscribed.query.js';
import { allowsSending } from './subscription-status.js';
import type { CurrentSubscription } from './subscription.js';

type SubscriptionRow = Omit<CurrentSubscription, 'isSendingAllowed' | 'currentPeriod' | 'currentMonth'> & {
  readonly periodStart: Date | null;
  readonly periodEnd: Date | null;
};

/** Asked for whenever a plan's limit is. */
const OF_TENANT = new PreparedQuery((tables: Kysely<AccessTables & BillingTables>, tenantId: number) =>
  subscribed(tables)
    .select(['s.id', 's.planTier', 's.status', 's.billingInterval', 's.currency', 's.pendingPlanTier'])
    .select(['s.pendingAiCredits', 's.cancelledAt', 's.cancellationReason', 's.cancelAtPeriodEnd'])
    .select(['v.limits', 's.anchoredAt', 's.createdAt', 's.updatedAt'])
    .select(['s.currentPeriodStart as periodStart', 's.currentPeriodEnd as periodEnd'])
    .where('s.tenantId', '=', tenantId),
);

/** Reads what a tenant has subscribed to. */
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
}

function complete({ periodStart, periodEnd, ...row }: SubscriptionRow, now: Date): CurrentSubscription {
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
    currentMonth: billingPeriod(row.anchoredAt, now),
  };
}
