import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database } from '#platform';
import type { BillingPeriod } from '../subscriptions/billing-period.js';

/** The credits of one month of a subscription. */
export interface MonthlyGrant {
  readonly tenantId: number;
  readonly subscriptionId: number;
  readonly credits: number;
  readonly period: BillingPeriod;
}

/** Credits that come with each month of a subscription and lapse with its end. */
@Injectable()
export class MonthlyCreditsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Grants a month's credits, once; what the month before left lapses. True when they were granted by this call. */
  grant({ tenantId, subscriptionId, credits, period }: MonthlyGrant): Promise<boolean> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<{ granted: boolean }>`
        select billing.grant_monthly_credits(${tenantId}, ${subscriptionId}, ${credits}, ${period.start}, ${period.end},
          ${this.clock.now()}) as granted
      `.execute(db);
      return rows[0]?.granted ?? false;
    });
  }
}
