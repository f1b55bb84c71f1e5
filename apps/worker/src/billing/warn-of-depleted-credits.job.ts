import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { CreditsDepleted } from '#billing';
import type { ProjectScope } from '#kernel';
import { Publisher, done, type JobResult, LOGGER, TransactionalJob } from '#platform';

/** Warns the operator and the project's webhooks that a tenant has run out of AI credits. */
@Injectable()
export class WarnOfDepletedCredits extends TransactionalJob<{ tenantId: number }> {
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
