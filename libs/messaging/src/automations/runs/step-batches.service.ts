import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { RecipientsQuery } from '#audience';
import { Announcer, type Sql } from '#platform';
import { RunsQuery } from './runs.query.js';
import type { VersionPlan } from '../nodes/version-plan.js';
import type { RunMove, StepBatch } from './step-batch.js';

const OUTCOMES = { COMPLETED: 'completed', CONVERTED: 'converted' } as const;

interface EndedRun {
  readonly id: string;
  readonly subscriberId: string | null;
  readonly enteredAt: Date;
}

/** Writes down where people went, and tells the world outside who came to an end: all with the caller's transaction. */
@Injectable()
export class StepBatches {
  constructor(
    @Inject(RunsQuery) private readonly runs: RunsQuery,
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
    @Inject(Announcer) private readonly announcer: Announcer,
  ) {}

  async save(db: Sql, plan: VersionPlan, { moves, steps }: StepBatch, now: Date): Promise<void> {
    await this.runs.save(db, plan.scope, moves, steps, now);
    const ended = new Map(
      moves.flatMap((move) => {
        const outcome = outcomeOf(move);
        return outcome === null ? [] : [[move.id, outcome] as const];
      }),
    );
    if (ended.size > 0 && this.announcer.hears(plan.scope, 'automation.completed'))
      await this.#tell(db, plan, ended, now);
  }

  async #tell(
    db: Sql,
    { scope, automationId, automationKey }: VersionPlan,
    ended: ReadonlyMap<string, 'completed' | 'converted'>,
    completedAt: Date,
  ): Promise<void> {
    const { rows } = await sql<EndedRun>`
      select id, subscriber_id as "subscriberId", entered_at as "enteredAt" from messaging.automation_runs
      where environment_id = ${scope.environmentId} and id = any(${[...ended.keys()]}::uuid[])
    `.execute(db);
    const ids = rows.flatMap(({ subscriberId }) => subscriberId ?? []);
    const people = await this.recipients.lookUp(scope, [], ids, completedAt);
    const announcements = rows.map(({ id, subscriberId, enteredAt }) => {
      const email = people.get(subscriberId ?? '')?.email ?? null;
      const outcome = ended.get(id);
      const data = { automationKey, automationId, subscriberId, email, outcome, enteredAt, completedAt };
      return { type: 'automation.completed', subscriberId, data } as const;
    });
    await this.announcer.announce(scope, ...announcements);
  }
}

function outcomeOf({ status }: RunMove): 'completed' | 'converted' | null {
  return status === 'COMPLETED' || status === 'CONVERTED' ? OUTCOMES[status] : null;
}
