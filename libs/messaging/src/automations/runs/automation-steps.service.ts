import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import { StepTakers } from '../nodes/step-takers.service.js';
import { holdSteps } from './run-locks.query.js';
import { RunsQuery } from './runs.query.js';
import type { VersionPlan } from '../nodes/version-plan.js';
import { VersionPlans } from './version-plans.service.js';
import { type ClaimedRun, StepBatch } from './step-batch.js';
import { StepBatches } from './step-batches.service.js';

/** People a transaction: few enough to be done in a moment, enough that statements are shared. */
export const BATCH = 1_000;

/** How one step of one person went; nobody's when nobody has one to take. */
export interface AloneStep {
  readonly run: ClaimedRun | null;
  readonly error: unknown;
}

/**
 * Takes the steps of people whose time has come. What the steps do, where they lead and that they were taken is one
 * transaction for a batch of people, who are locked meanwhile: a worker that is killed leaves all of it or nothing.
 */
@Injectable()
export class AutomationSteps {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(VersionPlans) private readonly plans: VersionPlans,
    @Inject(RunsQuery) private readonly runs: RunsQuery,
    @Inject(StepBatches) private readonly batches: StepBatches,
    @Inject(StepTakers) private readonly takers: StepTakers,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Takes a batch as far as it goes; resolves to how many people that were. Nobody when the automation rests. */
  async takeBatch(scope: ProjectScope, versionId: number, limit = BATCH): Promise<number> {
    return this.#claiming(scope, versionId, limit, async (db, plan, runs, now) => {
      if (runs.length > 0) await this.#takeAll(db, plan, runs, now);
      return runs.length;
    });
  }

  /** Takes one step of one person; what went wrong comes with whom it happened to. `error` is null when all is well. */
  async takeAlone(scope: ProjectScope, versionId: number): Promise<AloneStep> {
    let run: ClaimedRun | null = null;
    try {
      await this.#claiming(scope, versionId, 1, async (db, plan, runs, now) => {
        run = runs[0] ?? null;
        if (run !== null) await this.#step(db, plan, run, now);
        return runs.length;
      });
      return { run, error: null };
    } catch (error) {
      return { run, error };
    }
  }

  async #claiming(
    scope: ProjectScope,
    versionId: number,
    limit: number,
    take: (db: Sql, plan: VersionPlan, runs: readonly ClaimedRun[], now: Date) => Promise<number>,
  ): Promise<number> {
    const plan = await this.plans.of(scope, versionId);
    return this.database.transaction(scope, async ({ db }) => {
      await holdSteps(db, plan.automationId);
      if (!(await isActive(db, plan))) return 0;
      return take(db, plan, await this.runs.claim(db, scope, versionId, limit), this.clock.now());
    });
  }

  /** One step; who has waited only leaves the delay. */
  async #step(db: Sql, plan: VersionPlan, run: ClaimedRun, now: Date): Promise<void> {
    const batch = new StepBatch(plan, [run], now);
    if (!run.isWaiting) await this.#takeAt(batch, plan, run.position, now);
    batch.park();
    await this.batches.save(db, plan, batch, now);
  }

  async #takeAll(db: Sql, plan: VersionPlan, runs: readonly ClaimedRun[], now: Date): Promise<void> {
    const batch = new StepBatch(plan, runs, now);
    for (const place of plan.order) await this.#takeAt(batch, plan, place, now);
    await this.batches.save(db, plan, batch, now);
  }

  /** Takes the step of all who stand there. */
  async #takeAt(batch: StepBatch, plan: VersionPlan, place: number, now: Date): Promise<void> {
    const step = plan.steps[place];
    const people = batch.peopleAt(place);
    if (step === undefined || people.length === 0) return;
    const asked = people.map(({ id, subscriberId }) => ({ runId: id, subscriberId }));
    batch.apply(place, await this.takers.take(step, asked, { plan, now }));
  }
}

async function isActive(db: Sql, { scope, automationId }: VersionPlan): Promise<boolean> {
  const { rows } = await sql`
    select from messaging.automations
    where environment_id = ${scope.environmentId} and id = ${automationId} and status = 'ACTIVE'
  `.execute(db);
  return rows.length === 1;
}
