import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, present, presentAnd, type Sql } from '#platform';
import { failedRun, restAfter } from '../runs/run-failure.js';
import { holdSteps } from '../runs/run-locks.query.js';
import { wakeRunners } from '../runs/runs.channel.js';
import { RunsQuery } from '../runs/runs.query.js';
import { onwards } from '../nodes/step.js';
import type { VersionPlan } from '../nodes/version-plan.js';
import { VersionPlans } from '../runs/version-plans.service.js';
import { type ClaimedRun, StepBatch } from '../runs/step-batch.js';
import { StepBatches } from '../runs/step-batches.service.js';
import { nextTry, type WebhookOutcome } from './webhook-outcome.js';

/** Longer than a call can take. Who has died by then is followed by another one. */
const LEASE_MS = 30_000;

/** A call to make: the run is this worker's until `leasedUntil`, which nobody else may change. */
export interface WebhookCall extends ClaimedRun {
  readonly plan: VersionPlan;
  /** This one included. */
  readonly attempts: number;
  readonly leasedUntil: Date;
  /** What came with the person. */
  readonly data: unknown;
}

/**
 * Calls to make and how they went. A call is made outside of any transaction, so a worker that dies in between makes
 * it be repeated, with the same `webhook-id`; the step is taken once.
 */
@Injectable()
export class WebhookCalls {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(VersionPlans) private readonly plans: VersionPlans,
    @Inject(StepBatches) private readonly batches: StepBatches,
    @Inject(RunsQuery) private readonly runs: RunsQuery,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** The next calls of an active automation, leased. */
  async claim(scope: ProjectScope, versionId: number, limit: number): Promise<readonly WebhookCall[]> {
    const plan = await this.plans.of(scope, versionId);
    return this.database.transaction(scope, async ({ db }) => {
      await holdSteps(db, plan.automationId);
      const { rows } = await sql<ClaimedRun & Pick<WebhookCall, 'attempts' | 'data' | 'leasedUntil'>>`
        with due as materialized (
          select r.id from messaging.automation_runs r
          where r.environment_id = ${scope.environmentId} and r.version_id = ${versionId} and r.is_calling
            and r.wake_at <= ${present}
            and exists (select from messaging.automations a where a.id = ${plan.automationId} and a.status = 'ACTIVE')
          order by r.wake_at limit ${limit} for update skip locked
        ), leased as (
          update messaging.automation_runs r set wake_at = ${presentAnd(LEASE_MS)}, attempts = r.attempts + 1
          from due where r.id = due.id
          returning r.id, r.subscriber_id, r.position, r.is_waiting, r.entered_at, r.attempts, r.wake_at
        )
        select l.id, l.subscriber_id as "subscriberId", l.position, l.is_waiting as "isWaiting",
          (l.entered_at at time zone 'UTC')::date as "enteredOn", l.attempts, l.wake_at as "leasedUntil", d.data
        from leased l left join messaging.automation_run_data d on d.run_id = l.id
      `.execute(db);
      return rows.map((row) => ({ ...row, plan }));
    });
  }

  /** Nothing when the run was ended meanwhile, or somebody else has it. */
  async settle(call: WebhookCall, outcome: WebhookOutcome): Promise<void> {
    const { scope } = call.plan;
    await this.database.transaction(scope, async ({ db }) => {
      if (!(await isOurs(db, call))) return;
      const now = this.clock.now();
      const again = outcome.kind === 'refused' && !outcome.isFinal ? nextTry(call.attempts, now) : null;
      if (again !== null) {
        await postpone(db, call, again);
        return;
      }
      const batch = new StepBatch(call.plan, [call], now);
      batch.apply(call.position, [onwards(outcome.detail, outcome.kind === 'accepted' ? 'DONE' : 'FAILED')]);
      batch.park();
      await this.batches.save(db, call.plan, batch, now);
      await wakeRunners(db);
    });
  }

  /** After a fault of ours: the call is made later, and after some tries the run has failed, with the reason. */
  async setAside(call: WebhookCall, reason: string): Promise<void> {
    const { scope } = call.plan;
    await this.database.transaction(scope, async ({ db }) => {
      if (!(await isOurs(db, call))) return;
      const now = this.clock.now();
      const until = restAfter(call.attempts, now);
      if (until !== null) return postpone(db, call, until);
      const { move, steps } = failedRun(call, reason);
      return this.runs.save(db, scope, [move], steps, now);
    });
  }
}

async function isOurs(db: Sql, { id, plan, leasedUntil }: WebhookCall): Promise<boolean> {
  const { rows } = await sql`
    select from messaging.automation_runs
    where environment_id = ${plan.scope.environmentId} and id = ${id} and is_calling and wake_at = ${leasedUntil}
    for update
  `.execute(db);
  return rows.length === 1;
}

async function postpone(db: Sql, { id, plan }: WebhookCall, until: Date): Promise<void> {
  await sql`
    update messaging.automation_runs set wake_at = ${until}
    where environment_id = ${plan.scope.environmentId} and id = ${id}
  `.execute(db);
}
