import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { RecipientsQuery } from '#audience';
import { nextTry, type ProjectScope } from '#kernel';
import { Database, plannedForValues, present, Publisher } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { type ClaimedRun, type RunMove, StepBatch, type TakenStep } from './step-batch.js';
import { type VersionPlan, VersionPlansQuery } from './version-plans.query.js';

const MINUTE_MS = 60_000;
/** Between one try of a step that fails and the next; after one more the run has failed. */
const BACKOFF_MS = [MINUTE_MS / 6, MINUTE_MS, 10 * MINUTE_MS, 60 * MINUTE_MS];

/** Runs that are cancelled in one transaction. */
const CHUNK = 10_000;

/** Notifies runners that a run may have a due step. */
export const RUNS_CHANNEL = 'mailwright_automations';

/** Wakes all runners when the open transaction commits. */
export function wakeRunners(database: Database): void {
  database.notify(RUNS_CHANNEL);
}

/** Prevents pausing and archiving until the open transaction ends. Resolves to true when the automation is ACTIVE. */
export async function holdSteps(
  database: Database,
  { scope: { environmentId }, automationId }: Pick<VersionPlan, 'scope' | 'automationId'>,
): Promise<boolean> {
  await sql`select pg_advisory_xact_lock_shared(${stepsLock(automationId)})`.execute(database.tables());
  const automation = await database
    .tables<MessagingTables>()
    .selectFrom('messaging.automations')
    .select('status')
    .where('environmentId', '=', environmentId)
    .where('id', '=', automationId)
    .executeTakeFirst();
  return automation?.status === 'ACTIVE';
}

/** Waits for step batches in progress; none begins until the open transaction ends. */
export async function stopSteps(database: Database, automationId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${stepsLock(automationId)})`.execute(database.tables());
}

function stepsLock(automationId: string): RawBuilder<unknown> {
  return sql`hashtextextended(${`automation-steps:${automationId}`}, 0)`;
}

/** Ends an erased subscriber's runs; their rows stay, without the subscriber. */
export async function eraseRuns(
  database: Database,
  { environmentId }: ProjectScope,
  subscriberId: string,
  now: Date,
): Promise<void> {
  await sql`
    with ended as (
      update messaging.automation_runs
      set subscriber_id = null, wake_at = null, finished_at = coalesce(finished_at, ${now}),
        status = case when status = 'ACTIVE' then 'CANCELLED' else status end
      where environment_id = ${environmentId} and subscriber_id = ${subscriberId}
      returning id
    )
    delete from messaging.automation_run_data d using ended
    where d.environment_id = ${environmentId} and d.run_id = ended.id
  `.execute(database.tables());
}

/** Claims runs, saves their moves and steps, and ends them, in the open transaction. */
@Injectable()
export class RunRepository {
  constructor(
    private readonly database: Database,
    private readonly plans: VersionPlansQuery,
    private readonly recipients: RecipientsQuery,
    private readonly publisher: Publisher,
  ) {}

  /** Locks runs that are due. Null when there are none, or the automation is not ACTIVE. */
  async claim(scope: ProjectScope, versionId: number, limit: number, now: Date): Promise<StepBatch | null> {
    const plan = await this.plans.of(scope, versionId);
    if (!(await holdSteps(this.database, plan))) return null;
    const { rows } = await sql<ClaimedRun>`
      /* claim_runs */ select id, subscriber_id, position, is_waiting, (entered_at at time zone 'UTC')::date as entered_on
      from messaging.automation_runs
      where environment_id = ${scope.environmentId} and version_id = ${versionId} and is_calling = false and wake_at <= ${present}
      order by wake_at limit ${limit} for update skip locked
    `.execute(this.database.tables());
    return rows.length === 0 ? null : new StepBatch(plan, rows, now);
  }

  /** Saves the moves and steps of a batch, and publishes which runs completed. */
  async save(batch: StepBatch): Promise<void> {
    const { plan, moves, steps, now } = batch;
    await this.#write(plan.scope, moves, steps, now);
    const completed = moves.filter(({ status }) => status === 'COMPLETED' || status === 'CONVERTED');
    if (completed.length > 0 && this.publisher.hasListeners(plan.scope, 'automation.completed'))
      await this.#publishCompleted(batch, completed);
  }

  async #publishCompleted({ plan, now }: StepBatch, moves: readonly RunMove[]): Promise<void> {
    const outcomes = new Map(moves.map(({ id, status }) => [id, status.toLowerCase()]));
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

  /** One statement for moves and steps. It names the runs twice: otherwise it may read all runs. */
  async #write(
    { environmentId }: ProjectScope,
    moves: readonly RunMove[],
    steps: readonly TakenStep[],
    now: Date,
  ): Promise<void> {
    const move = <Field extends keyof RunMove>(field: Field) => moves.map((one) => one[field]);
    const step = <Field extends keyof TakenStep>(field: Field) => steps.map((one) => one[field]);
    const writing = sql`
      /* save_runs */ with logged as (
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
    `;
    // An array of unknown length is taken for ten: each of the moves would be compared with each.
    await plannedForValues(this.database, {}, () => writing.execute(this.database.tables()));
  }

  /** Postpones a run whose step failed, or ends it as FAILED after the last try. Resolves to true when it ended. */
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
    await this.#write(scope, [move], steps, now);
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

  /** Locks the run if it is still due at its step; resolves to its failed attempts, else null. */
  async lockDue({ environmentId }: ProjectScope, run: ClaimedRun): Promise<number | null> {
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

  /** Cancels a chunk of an archived automation's active runs; resolves to true when there may be more. */
  cancel(scope: ProjectScope, automationId: string, now: Date): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const { numAffectedRows = 0n } = await sql`
        update messaging.automation_runs set status = 'CANCELLED', wake_at = null, finished_at = ${now}
        where environment_id = ${scope.environmentId} and id = any(array(
          select r.id from messaging.automation_versions v
          join messaging.automation_runs r on r.version_id = v.id and r.environment_id = v.environment_id
          where v.environment_id = ${scope.environmentId} and v.automation_id = ${automationId} and r.wake_at is not null
          limit ${CHUNK} for update of r
        ))
      `.execute(this.database.tables());
      if (numAffectedRows > 0n) return true;
      await this.database
        .tables<MessagingTables>()
        .updateTable('messaging.automations')
        .set({ isClosing: false })
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', automationId)
        .where('status', '=', 'ARCHIVED')
        .execute();
      return false;
    });
  }
}

/** The end of a run that cannot go on, with its last step. */
function failedRun(
  { id, position, isWaiting, enteredOn }: ClaimedRun,
  detail: string,
): { readonly move: RunMove; readonly steps: readonly TakenStep[] } {
  const move = { id, position, wakeAt: null, isWaiting: false, isCalling: false, status: 'FAILED' } as const;
  // The delay of a run that waits is logged already.
  const steps = isWaiting
    ? []
    : [{ runId: id, enteredOn, place: position, status: 'FAILED', detail } as const];
  return { move, steps };
}
