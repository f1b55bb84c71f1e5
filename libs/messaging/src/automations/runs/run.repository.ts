import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { nextTry, type ProjectScope } from '#kernel';
import { Database, present } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import type { ClaimedRun, RunMove, TakenStep } from './step-batch.js';

const MINUTE_MS = 60_000;
/** Between one try of a step that fails and the next; after one more the run has failed. */
const BACKOFF_MS = [MINUTE_MS / 6, MINUTE_MS, 10 * MINUTE_MS, 60 * MINUTE_MS];

/** Claims runs and saves where they went, in the open transaction. Both take a batch in one statement, so they are SQL. */
@Injectable()
export class RunRepository {
  constructor(private readonly database: Database) {}

  /** Locks runs that are due, the one that is due longest first; skips those that others have locked. */
  async claim(
    { environmentId }: ProjectScope,
    versionId: number,
    limit: number,
  ): Promise<readonly ClaimedRun[]> {
    const { rows } = await sql<ClaimedRun>`
      select id, subscriber_id, position, is_waiting, (entered_at at time zone 'UTC')::date as entered_on
      from messaging.automation_runs
      where environment_id = ${environmentId} and version_id = ${versionId} and is_calling = false and wake_at <= ${present}
      order by wake_at limit ${limit} for update skip locked
    `.execute(this.database.tables());
    return rows;
  }

  /** The moves and the steps that led to them, in one statement, which names the runs twice: else it may read all of them. */
  async save(
    { environmentId }: ProjectScope,
    moves: readonly RunMove[],
    steps: readonly TakenStep[],
    now: Date,
  ): Promise<void> {
    const move = <Field extends keyof RunMove>(field: Field) => moves.map((one) => one[field]);
    const step = <Field extends keyof TakenStep>(field: Field) => steps.map((one) => one[field]);
    await sql`
      with logged as (
        insert into messaging.automation_steps (environment_id, at, entered_on, position, run_id, status, detail)
        select ${environmentId}, ${now}, s.entered_on, s.place, s.run_id, s.status, s.detail
        from unnest(${step('enteredOn')}::date[], ${step('place')}::smallint[], ${step('runId')}::uuid[],
          ${step('status')}::text[], ${step('detail')}::text[]) s(entered_on, place, run_id, status, detail)
        returning run_id
      )
      update messaging.automation_runs r set position = m.position, wake_at = m.wake_at, is_waiting = m.is_waiting,
        is_calling = m.is_calling, status = m.status, attempts = 0,
        finished_at = case when m.wake_at is null then ${now}::timestamptz end
      from unnest(${move('id')}::uuid[], ${move('position')}::smallint[], ${move('wakeAt')}::timestamptz[],
        ${move('isWaiting')}::boolean[], ${move('isCalling')}::boolean[], ${move('status')}::text[])
        m(id, position, wake_at, is_waiting, is_calling, status)
      where r.id = any(${move('id')}::uuid[]) and r.id = m.id and r.environment_id = ${environmentId}
    `.execute(this.database.tables());
  }

  /** Postpones a run whose step failed so many times, or ends it as FAILED after the last try. Resolves to whether it ended. */
  async setAside(
    scope: ProjectScope,
    run: ClaimedRun,
    { attempts, reason }: { readonly attempts: number; readonly reason: string },
    now: Date,
  ): Promise<boolean> {
    const until = nextTry(BACKOFF_MS, attempts, now);
    if (until !== null) {
      await this.postpone(scope, run, { attempts, wakeAt: until });
      return false;
    }
    const { move, steps } = failedRun(run, reason);
    await this.save(scope, [move], steps, now);
    return true;
  }

  async postpone(
    { environmentId }: ProjectScope,
    { id }: ClaimedRun,
    next: { readonly attempts: number; readonly wakeAt: Date },
  ): Promise<void> {
    await this.database
      .tables<MessagingTables>()
      .updateTable('messaging.automation_runs')
      .set({ attempts: next.attempts, wakeAt: next.wakeAt })
      .where('environmentId', '=', environmentId)
      .where('id', '=', id)
      .execute();
  }
}

/** The end of a run that cannot go on, and what its last step says. */
function failedRun(
  { id, position, isWaiting, enteredOn }: ClaimedRun,
  detail: string,
): { readonly move: RunMove; readonly steps: readonly TakenStep[] } {
  const move = { id, position, wakeAt: null, isWaiting: false, isCalling: false, status: 'FAILED' } as const;
  // The step of a run that waits is logged already.
  const steps = isWaiting
    ? []
    : [{ runId: id, enteredOn, place: position, status: 'FAILED', detail } as const];
  return { move, steps };
}
