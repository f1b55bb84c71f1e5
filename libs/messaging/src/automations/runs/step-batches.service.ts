import { Injectable } from '@nestjs/common';
import { RecipientsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { Publisher, Database } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { holdSteps } from './run-locks.query.js';
import { RunRepository } from './run.repository.js';
import { StepBatch } from './step-batch.js';
import { VersionPlans } from './version-plans.service.js';

const OUTCOMES = { COMPLETED: 'completed', CONVERTED: 'converted' } as const;
type Outcome = (typeof OUTCOMES)[keyof typeof OUTCOMES];

/** Claims and saves step batches in the open transaction, and publishes which runs completed. */
@Injectable()
export class StepBatches {
  constructor(
    private readonly database: Database,
    private readonly plans: VersionPlans,
    private readonly runs: RunRepository,
    private readonly recipients: RecipientsQuery,
    private readonly publisher: Publisher,
  ) {}

  /** Null when no run of the version is due, or its automation is not ACTIVE. */
  async claim(scope: ProjectScope, versionId: number, limit: number, now: Date): Promise<StepBatch | null> {
    const plan = await this.plans.of(scope, versionId);
    if (!(await holdSteps(this.database, plan))) return null;
    const runs = await this.runs.claim(scope, versionId, limit);
    return runs.length === 0 ? null : new StepBatch(plan, runs, now);
  }

  async save(batch: StepBatch): Promise<void> {
    const { plan, moves, steps, now } = batch;
    await this.runs.save(plan.scope, moves, steps, now);
    const outcomes = new Map(
      moves.flatMap(({ id, status }) =>
        status === 'COMPLETED' || status === 'CONVERTED' ? [[id, OUTCOMES[status]] as const] : [],
      ),
    );
    if (outcomes.size > 0 && this.publisher.hasListeners(plan.scope, 'automation.completed'))
      await this.#publish(batch, outcomes);
  }

  async #publish({ plan, now }: StepBatch, outcomes: ReadonlyMap<string, Outcome>): Promise<void> {
    const { scope, automationId, automationKey } = plan;
    const runs = await this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.automation_runs')
      .select(['id', 'subscriberId', 'enteredAt'])
      .where('environmentId', '=', scope.environmentId)
      .where('id', 'in', [...outcomes.keys()])
      .execute();
    const ids = runs.flatMap(({ subscriberId }) => subscriberId ?? []);
    const people = await this.recipients.lookUp(scope, [], ids, now);
    const events = runs.map(({ id, subscriberId, enteredAt }) => {
      const email = people.get(subscriberId ?? '')?.email ?? null;
      const outcome = outcomes.get(id);
      const data = { automationKey, automationId, subscriberId, email, outcome, enteredAt, completedAt: now };
      return { type: 'automation.completed', subscriberId, data } as const;
    });
    await this.publisher.publish(scope, ...events);
  }
}
