import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { Clock, type ProjectScope } from '#kernel';
import { Database, describeError, LOGGER, present, type Sql } from '#platform';
import { failedRun, restAfter } from './run-failure.js';
import { holdSteps } from './run-locks.query.js';
import { RunsQuery } from './runs.query.js';
import { VersionPlans } from './version-plans.service.js';
import type { ClaimedRun } from './step-batch.js';

/** Sets people aside whose step fails again and again, so that it is tried later, and at last fails their run. */
@Injectable()
export class PoisonedRuns {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(VersionPlans) private readonly plans: VersionPlans,
    @Inject(RunsQuery) private readonly runs: RunsQuery,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Nothing happens when the run has gone on meanwhile, or the automation rests. */
  async setAside(scope: ProjectScope, versionId: number, run: ClaimedRun, error: unknown): Promise<void> {
    const { automationId } = await this.plans.of(scope, versionId);
    const reason = describeError(error);
    await this.database.transaction(scope, async ({ db }) => {
      await holdSteps(db, automationId);
      const now = this.clock.now();
      const failures = await failuresOf(db, scope, automationId, run);
      if (failures === null) return;
      const until = restAfter(failures, now);
      if (until === null) await this.#fail(db, scope, run, reason, now);
      else await postpone(db, scope, run, until);
      const fields = { automationId, run: run.id, failures, hasFailed: until === null, error: reason };
      this.logger.error(fields, 'somebody in an automation could not go on');
    });
  }

  async #fail(db: Sql, scope: ProjectScope, run: ClaimedRun, detail: string, now: Date): Promise<void> {
    const { move, steps } = failedRun(run, detail);
    await this.runs.save(db, scope, [move], steps, now);
  }
}

/** This failure included; null when there is nothing to set aside. Nobody else has the run until the transaction ends. */
async function failuresOf(
  db: Sql,
  { environmentId }: ProjectScope,
  automationId: string,
  { id, position, isWaiting }: ClaimedRun,
): Promise<number | null> {
  const { rows } = await sql<{ attempts: number }>`
    select r.attempts from messaging.automation_runs r
    where r.environment_id = ${environmentId} and r.id = ${id} and r.position = ${position}
      and r.is_waiting = ${isWaiting} and not r.is_calling and r.wake_at <= ${present}
      and exists (select from messaging.automations a where a.id = ${automationId} and a.status = 'ACTIVE')
    for update of r skip locked
  `.execute(db);
  return rows[0] === undefined ? null : rows[0].attempts + 1;
}

async function postpone(
  db: Sql,
  { environmentId }: ProjectScope,
  { id }: ClaimedRun,
  until: Date,
): Promise<void> {
  await sql`
    update messaging.automation_runs set attempts = attempts + 1, wake_at = ${until}
    where environment_id = ${environmentId} and id = ${id}
  `.execute(db);
}
