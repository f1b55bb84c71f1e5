import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import {
  AdvanceSubscriptions,
  ApplyStripeEvents,
  CancelExpiredAtStripe,
  CreditsDepleted,
  CreditsService,
  ExpireCredits,
  SubscriptionPeriodStarted,
} from '#billing';
import type { ProjectScope } from '#kernel';
import { done, type JobResult, LOGGER, Publisher, TransactionalJob } from '#platform';
import type { ContextWork } from './worker.js';

type StartedMonth = ReturnType<typeof SubscriptionPeriodStarted>['payload'];

/** Grants a tenant the AI credits of the new month. */
@Injectable()
class GrantMonthlyCredits extends TransactionalJob<StartedMonth> {
  override readonly name = 'grant-monthly-credits';
  override readonly queue = 'billing';
  override readonly on = SubscriptionPeriodStarted;

  constructor(private readonly credits: CreditsService) {
    super();
  }

  override async handle(scope: ProjectScope, { aiCredits, periodStart }: StartedMonth): Promise<JobResult> {
    await this.credits.grantMonth(scope, new Date(periodStart), aiCredits);
    return done;
  }
}

/** Warns the operator and the project's webhooks that a tenant has run out of AI credits. */
@Injectable()
class WarnOfDepletedCredits extends TransactionalJob<{ tenantId: number }> {
  override readonly name = 'warn-of-depleted-credits';
  override readonly queue = 'billing';
  override readonly on = CreditsDepleted;

  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly publisher: Publisher,
  ) {
    super();
  }

  override async handle(scope: ProjectScope, { tenantId }: { tenantId: number }): Promise<JobResult> {
    this.logger.warn({ tenantId }, 'AI credits depleted');
    await this.publisher.publish(scope, { type: 'credits.depleted', data: { balance: 0 } });
    return done;
  }
}

export const billingWork: ContextWork = {
  jobs: [GrantMonthlyCredits, WarnOfDepletedCredits],
  events: [CreditsDepleted, SubscriptionPeriodStarted],
  tasks: [AdvanceSubscriptions, ApplyStripeEvents, CancelExpiredAtStripe, ExpireCredits],
  parts: [],
};
