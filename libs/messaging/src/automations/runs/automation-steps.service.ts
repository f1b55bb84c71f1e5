import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import { StepTakers } from '../nodes/step-takers.service.js';
import { holdSteps } from './run-locks.query.js';
import { RunsQuery } from './runs.query.js';
import type { VersionPlan } from './version-plan.js';
import { VersionPlans } from './version-plans.service.js';
import { type ClaimedRun, Walk } from './walk.js';

/** People a transaction: few enough to be done in a moment, enough that statements are shared. */
const BATCH = 1_000;

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
    @Inject(StepTakers) private readonly takers: StepTakers,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Takes a batch as far as it goes; resolves to how many people that were. Nobody when the automation rests. */
  async takeBatch(scope: ProjectScope, versionId: number, limit = BATCH): Promise<number> {
    const plan = await this.plans.of(scope, versionId);
    return this.database.transaction(scope, async ({ db }) => {
      await holdSteps(db, plan.automationId);
      if (!(await isActive(db, plan))) return 0;
      const now = this.clock.now();
      const runs = await this.runs.claim(db, scope, versionId, { now, limit });
      if (runs.length > 0) await this.#walk(db, plan, runs, now);
      return runs.length;
    });
  }

  async #walk(db: Sql, plan: VersionPlan, runs: readonly ClaimedRun[], now: Date): Promise<void> {
    const walk = new Walk(plan, runs, now);
    for (const place of plan.order) {
      const step = plan.steps[place];
      const people = walk.peopleAt(place);
      if (step === undefined || people.length === 0) continue;
      const asked = people.map(({ id, subscriberId }) => ({ runId: id, subscriberId }));
      walk.apply(place, await this.takers.take(step, asked, { plan, now }));
    }
    await this.runs.save(db, plan.scope, walk.moves, walk.steps, now);
  }
}

async function isActive(db: Sql, { scope, automationId }: VersionPlan): Promise<boolean> {
  const { rows } = await sql`
    select from messaging.automations
    where environment_id = ${scope.environmentId} and id = ${automationId} and status = 'ACTIVE'
  `.execute(db);
  return rows.length === 1;
}
