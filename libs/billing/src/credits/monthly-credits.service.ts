import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { billingPeriod } from '../subscriptions/billing-period.js';
import { SubscriptionsQuery } from '../subscriptions/subscriptions.query.js';

/** Credits that come with each month of a subscription and lapse with its end. */
@Injectable()
export class MonthlyCreditsService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly subscriptions: SubscriptionsQuery,
  ) {}

  /**
   * Sees to it that the month that began at `monthStart` has `credits` in all: the first time it grants them, and what
   * the month before left lapses; later it grants what they are more by. Answers how many were granted by this call. A
   * month that is over or was followed by another one gets none. Joins the caller's transaction.
   */
  grant(scope: ProjectScope, monthStart: Date, credits: number): Promise<number> {
    if (!Number.isSafeInteger(credits) || credits < 0)
      throw new RangeError('A month has a whole number of credits.');
    return this.database.transaction(scope, async () => {
      const subscription = await this.subscriptions.ofTenant(scope);
      const { end } = billingPeriod(subscription?.anchoredAt ?? monthStart, monthStart);
      // The database's function keeps the account.
      const { rows } = await sql<{ granted: number }>`
        select billing.grant_monthly_credits(${scope.tenantId}, ${credits}, ${monthStart}, ${end}, ${this.clock.now()}) as granted
      `.execute(this.database.tables());
      return rows[0]?.granted ?? 0;
    });
  }
}
