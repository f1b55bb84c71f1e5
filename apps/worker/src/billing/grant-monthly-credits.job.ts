import { Injectable } from '@nestjs/common';
import { MonthlyCreditsService, SubscriptionPeriodStarted } from '#billing';
import type { ProjectScope } from '#kernel';
import { done, type JobResult, TransactionalJob } from '#platform';

interface StartedMonth {
  readonly subscriptionId: number;
  readonly aiCredits: number;
  readonly periodStart: string;
}

/** Grants a tenant the AI credits of the new month. */
@Injectable()
export class GrantMonthlyCredits extends TransactionalJob<StartedMonth> {
  override readonly name = 'grant-monthly-credits';
  override readonly queue = 'billing';
  override readonly on = SubscriptionPeriodStarted;

  constructor(private readonly credits: MonthlyCreditsService) {
    super();
  }

  override async handle(scope: ProjectScope, { aiCredits, periodStart }: StartedMonth): Promise<JobResult> {
    await this.credits.grant(scope, new Date(periodStart), aiCredits);
    return done;
  }
}
