import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { warnOfDepletedCredits, CreditsService, grantMonthlyCredits } from '#billing';
import type { ProjectScope } from '#kernel';
import { done, type JobResult, LOGGER, Publisher, Job } from '#platform';
import type { ContextWork } from './worker.js';

type StartedMonth = Parameters<typeof grantMonthlyCredits>[0];

/** Grants a tenant the AI credits of the new month. */
@Injectable()
class GrantMonthlyCredits {
  constructor(private readonly credits: CreditsService) {}

  @Job(grantMonthlyCredits)
  async handle(scope: ProjectScope, { aiCredits, periodStart }: StartedMonth): Promise<JobResult> {
    await this.credits.grantMonth(scope, new Date(periodStart), aiCredits);
    return done;
  }
}

/** Warns the operator and the project's webhooks that a tenant has run out of AI credits. */
@Injectable()
class WarnOfDepletedCredits {
  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly publisher: Publisher,
  ) {}

  @Job(warnOfDepletedCredits)
  async handle(scope: ProjectScope, { tenantId }: { tenantId: number }): Promise<JobResult> {
    this.logger.warn({ tenantId }, 'AI credits depleted');
    await this.publisher.publish(scope, { type: 'credits.depleted', data: { balance: 0 } });
    return done;
  }
}

export const billingWork: ContextWork = {
  jobs: [GrantMonthlyCredits, WarnOfDepletedCredits],
};
