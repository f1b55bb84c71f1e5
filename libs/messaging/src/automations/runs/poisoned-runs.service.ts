import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock, type ProjectScope } from '#kernel';
import { Database, describeError, LOGGER, present } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { holdSteps } from './run-locks.query.js';
import { RunRepository } from './run.repository.js';
import { VersionPlans } from './version-plans.service.js';
import type { ClaimedRun } from './step-batch.js';

/** Sets runs aside whose step fails again and again: it is tried later, and after the last try the run fails. */
@Injectable()
export class PoisonedRuns {
  constructor(
    private readonly database: Database,
    private readonly plans: VersionPlans,
    private readonly runs: RunRepository,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Does nothing when the run has moved meanwhile, or the automation is not ACTIVE. */
  async setAside(scope: ProjectScope, versionId: number, run: ClaimedRun, error: unknown): Promise<void> {
    const plan = await this.plans.of(scope, versionId);
    const reason = describeError(error);
    await this.database.transaction(scope, async () => {
      if (!(await holdSteps(this.database, plan))) return;
      const failures = await this.#attempts(scope, run);
      if (failures === null) return;
      const failure = { attempts: failures + 1, reason };
      const hasFailed = await this.runs.setAside(scope, run, failure, this.clock.now());
      const { automationId } = plan;
      const fields = { automationId, run: run.id, failures: failure.attempts, hasFailed, error: reason };
      this.logger.error(fields, 'a step of an automation failed');
    });
  }

  /** Locks the run if it is still due where it was; else null. */
  async #attempts({ environmentId }: ProjectScope, run: ClaimedRun): Promise<number | null> {
    const found = await this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.automation_runs')
      .select('attempts')
      .where('environmentId', '=', environmentId)
      .where('id', '=', run.id)
      .where('position', '=', run.position)
      .where('isWaiting', '=', run.isWaiting)
      .where('isCalling', '=', false)
      .where('wakeAt', '<=', present)
      .forUpdate()
      .skipLocked()
      .executeTakeFirst();
    return found?.attempts ?? null;
  }
}
