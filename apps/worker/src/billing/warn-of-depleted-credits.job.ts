import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { CreditsDepleted } from '#billing';
import type { ProjectScope } from '#kernel';
import { done, type JobResult, LOGGER, TransactionalJob } from '#platform';

/** Tells the operator, who may sell or grant some, that a tenant has run out of AI credits. */
@Injectable()
export class WarnOfDepletedCredits extends TransactionalJob<{ tenantId: number }> {
  override readonly name = 'warn-of-depleted-credits';
  override readonly queue = 'billing';
  override readonly on = CreditsDepleted;

  constructor(@Inject(LOGGER) private readonly logger: Logger) {
    super();
  }

  override handle(_scope: ProjectScope, { tenantId }: { tenantId: number }): Promise<JobResult> {
    this.logger.warn({ tenantId }, 'AI credits depleted');
    return Promise.resolve(done);
  }
}
