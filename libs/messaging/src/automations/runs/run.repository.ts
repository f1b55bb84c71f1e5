import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { RecipientsQuery, WaitsService } from '#audience';
import { nextTry, type ProjectScope } from '#kernel';
import { Database, neverJoined, plannedForValues, present, Publisher } from '#platform';
import { countingTraffic } from '../../engagement/automation-counters.repository.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { waitsOf } from '../automation.repository.js';
import {
  type ClaimedRun,
  type NodeTraffic,
  type RunMove,
  StepBatch,
  type StepOutcome,
  type TakenStep,
} from './step-batch.js';
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

/** Statement that cancels the active runs in `which`, and counts that they left their nodes; it returns how many they were. */
const cancelling = (
  { environmentId }: ProjectScope,
  which: RawBuilder<unknown>,
  now: Date,
): RawBuilder<{ readonly ended: number }> => sql<{ ended: number }>`
  with ended as (
    update messaging.automation_runs set status = 'CANCELLED', wake_at = null, finished_at = ${now}
    where environment_id = ${environmentId} and wake_at is not null and ${which}
    returning version_id, position, environment_id
  ), counted as (
    ${countingTraffic(
      sql`select version_id, position as place, environment_id, 0 as entered, 1 as departed from ended`,
    )} returning 1
  )
  select count(*) as ended from ended
`;

/** Data that these runs began with, by their ids: an event's properties, or a client's data. */
export async function eventsOf(
  database: Database,
  { environmentId }: ProjectScope,
  runs: readonly ClaimedRun[],
): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> {
  const { rows } = await sql<{ runId: string; data: Readonly<Record<string, unknown>> }>`
    select run_id, data from messaging.automation_run_data
    where environment_id = ${environmentId} and run_id = any(${runs.map(({ id }) => id)}::uuid[])
  `.execute(database.tables());
  return new Map(rows.map(({ runId, data }) => [runId, data]));
}

/** Ends an erased subscriber's runs; their rows stay, without the subscriber. */
export async function eraseRuns(
  database: Database,
  scope: ProjectScope,
  subscriberId: string,
  now: Date,
): Promise<void> {
  const { environmentId } = scope;
  await cancelling(scope, sql`subscriber_id = ${subscriberId}`, now).execute(database.tables());
  await sql`
    with ended as (
      update messaging.automation_runs set subscriber_id = null
      where environment_id = ${environmentId} and subscriber_id = ${subscriberId}
      returning id
    )
    delete from messaging.automation_run_data d using ended
    where d.environment_id = ${environmentId} and d.run_id = ended.id
  `.execute(database.tables());
}

/** The version that runs follow. */
type RunVersion = Pick<VersionPlan, 'scope' | 'versionId' | 'waitIds'>;

/** Claims runs, saves their moves and steps, and ends them, in the open transaction. */
@Injectable()
export class RunRepository {
  constructor(
    private readonly database: Database,
    private readonly plans: VersionPlansQuery,
    private readonly recipients: RecipientsQuery,
    private readonly publisher: Publisher,
    private readonly waits: WaitsService,
  ) {}

  /** Locks runs that are due. Null when there are none, or the automation is not ACTIVE. */
  async claim(scope: ProjectScope, versionId: number, limit: number, now: Date): Promise<StepBatch | null> {
    const plan = await this.plans.of(scope, versionId);
    if (!(await holdSteps(this.database, plan))) return null;
    const { rows } = await sql<ClaimedRun>`
      /* claim_runs */ select id, subscriber_id, position, is_waiting, has_happened, wake_at as due_at,
        (entered_at at time zone 'UTC')::date as entered_on
      from messaging.automation_runs
      where environment_id = ${scope.environmentId} and version_id = ${versionId} and is_calling = false and wake_at <= ${present}
      order by wake_at limit ${limit} for update skip locked
    `.execute(this.database.tables());
    return rows.length === 0 ? null : new StepBatch(plan, rows, now);
  }

  /** Saves the moves and steps of a batch, and publishes which runs completed. */
  async save(batch: StepBatch): Promise<void> {
    const { plan, moves } = batch;
    await this.#write(plan, batch, batch.now);
    if (batch.outcomes.length > 0) await this.#settle(plan.scope, batch.outcomes);
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
    const { metadata } = await this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.automations')
      .select('metadata')
      .where('environmentId', '=', scope.environmentId)
      .where('id', '=', automationId)
      .executeTakeFirstOrThrow();
    const people = await this.recipients.lookUp(scope, [], ids, now);
    const events = runs.map(({ id, subscriberId, enteredAt }) => {
      const email = people.get(subscriberId ?? '')?.email ?? null;
      const outcome = outcomes.get(id);
      const about = { automationKey, automationId, metadata };
      const data = { ...about, subscriberId, email, outcome, enteredAt, completedAt: now };
      return { type: 'automation.completed', subscriberId, data } as const;
    });
    await this.publisher.publish(scope, ...events);
  }

  /** One statement for moves, steps and counters. It names the runs twice: otherwise it may read all runs. */
  async #write(
    { scope: { environmentId }, versionId }: RunVersion,
    { moves, steps, traffic }: Pick<StepBatch, 'moves' | 'steps' | 'traffic'>,
    now: Date,
  ): Promise<void> {
    const move = <Field extends keyof RunMove>(field: Field) => moves.map((one) => one[field]);
    const node = <Field extends keyof NodeTraffic>(field: Field) => traffic.map((one) => one[field]);
    const step = <Field extends keyof TakenStep>(field: Field) => steps.map((one) => one[field]);
    const writing = sql`
      /* save_runs */ with logged as (
        insert into messaging.automation_steps (environment_id, at, entered_on, position, run_id, status, detail)
        select ${environmentId}, ${now}, s.entered_on, s.place, s.run_id, s.status, s.detail
        from unnest(${step('enteredOn')}::date[], ${step('place')}::smallint[], ${step('runId')}::uuid[],
          ${step('status')}::text[], ${step('detail')}::text[]) s(entered_on, place, run_id, status, detail)
        returning run_id
      ), counted as (
        ${countingTraffic(
          sql`select ${versionId}::bigint as version_id, n.place, ${environmentId}::bigint as environment_id, n.entered, n.departed
          from unnest(${node('place')}::smallint[], ${node('entered')}::int[], ${node('departed')}::int[])
            n(place, entered, departed)`,
        )} returning 1
      )
      update messaging.automation_runs r set position = m.position, wake_at = m.wake_at, is_waiting = m.is_waiting,
        is_calling = m.is_calling, has_happened = false, status = m.status, attempts = 0,
        finished_at = case when m.wake_at is null then ${now}::timestamptz end
      from unnest(${move('id')}::uuid[], ${move('position')}::smallint[], ${move('wakeAt')}::timestamptz[],
        ${move('isWaiting')}::boolean[], ${move('isCalling')}::boolean[], ${move('status')}::text[])
        m(id, position, wake_at, is_waiting, is_calling, status)
      where r.id = any(${move('id')}::uuid[]) and r.id = m.id and r.environment_id = ${environmentId}
    `;
    // An array of unknown length is taken for ten: each of the moves would be compared with each.
    await plannedForValues(this.database, {}, () => writing.execute(this.database.tables()));
  }

  async #settle({ environmentId }: ProjectScope, outcomes: readonly StepOutcome[]): Promise<void> {
    const outcome = <Field extends keyof StepOutcome>(field: Field) => outcomes.map((one) => one[field]);
    await sql`
      /* settle_waits */ update messaging.automation_steps s set detail = o.detail
      from unnest(${outcome('runId')}::uuid[], ${outcome('enteredOn')}::date[], ${outcome('place')}::smallint[],
        ${outcome('detail')}::text[]) o(run_id, entered_on, place, detail)
      where s.environment_id = ${environmentId} and s.run_id = o.run_id and s.position = o.place and s.entered_on = o.entered_on
        and s.run_id = any(${outcome('runId')}::uuid[]) and s.entered_on = any(${[...new Set(outcome('enteredOn'))]}::date[])
    `.execute(this.database.tables());
  }

  /** Wakes runs for which happened what they wait for; resolves to true when there may be more. */
  wakeFulfilled(scope: ProjectScope): Promise<boolean> {
    const { environmentId } = scope;
    return this.database.transaction(scope, async () => {
      const waking = sql<{ taken: number }>`
        /* wake_fulfilled */ with taken as (
          ${this.waits.taking(scope, CHUNK)}
        ), fulfilled as (
          select r.id as waiter_id, r.subscriber_id, t.wait_id from taken t
          join messaging.automation_runs r on r.id = t.waiter_id
          cross join lateral (
            select v.wait_ids from messaging.automation_versions v
            where v.environment_id = ${environmentId} and v.id = r.version_id ${neverJoined}
          ) v
          where r.environment_id = ${environmentId} and r.id = any(array(select waiter_id from taken))
            and r.is_waiting and r.wake_at is not null and v.wait_ids[r.position + 1] = t.wait_id
          order by r.id for update of r
        ), woken as (
          update messaging.automation_runs r set wake_at = ${present}, has_happened = true
          where r.environment_id = ${environmentId} and r.id = any(array(select waiter_id from fulfilled))
          returning r.id
        ), gone as (
          ${this.waits.leaving(scope, sql`fulfilled`)} returning waiter_id
        )
        select (select count(*) from taken) as taken, (select count(*) from woken) as woken, (select count(*) from gone) as gone
      `;
      const { rows } = await plannedForValues(this.database, { enable_nestloop: 'off' }, () =>
        waking.execute(this.database.tables()),
      );
      return (rows[0]?.taken ?? 0) > 0;
    });
  }

  /** Postpones a run whose step failed, or ends it as FAILED after the last try. Resolves to true when it ended. */
  async setAside(
    version: RunVersion,
    run: ClaimedRun,
    { attempts, reason }: { readonly attempts: number; readonly reason: string },
    now: Date,
  ): Promise<boolean> {
    const until = nextTry(BACKOFF_MS, attempts, now);
    if (until !== null) {
      await this.postpone(version.scope, run, { attempts, wakeAt: until });
      return false;
    }
    await this.#write(version, failedRun(run, reason), now);
    const waitId = run.isWaiting ? version.waitIds[run.position] : null;
    if (waitId != null) await this.waits.end(version.scope, waitId, [run]);
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
      const chunk = sql`id = any(array(
        select r.id from messaging.automation_versions v
        join messaging.automation_runs r on r.version_id = v.id and r.environment_id = v.environment_id
        where v.environment_id = ${scope.environmentId} and v.automation_id = ${automationId} and r.wake_at is not null
        limit ${CHUNK} for update of r
      ))`;
      const { rows } = await cancelling(scope, chunk, now).execute(this.database.tables());
      if ((rows[0]?.ended ?? 0) > 0) return true;
      if (await this.waits.close(scope, await waitsOf(this.database, scope, automationId))) return true;
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
): Pick<StepBatch, 'moves' | 'steps' | 'traffic'> {
  const move = { id, position, wakeAt: null, isWaiting: false, isCalling: false, status: 'FAILED' } as const;
  // The delay of a run that waits is logged already.
  const steps = isWaiting
    ? []
    : [{ runId: id, enteredOn, place: position, status: 'FAILED', detail } as const];
  return { moves: [move], steps, traffic: [{ place: position, entered: 0, departed: 1 }] };
}
