import { type RawBuilder, sql } from 'kysely';
import { doublingBackoff, type ProjectScope } from '#kernel';
import { present, presentAnd } from '../database/clock.js';
import type { Database } from '../database/database.js';
import type { JobResult, JobType, NewJob, QueueName } from './job.js';
import { isUnleased, leasedTo, unleased } from './lease.js';

/** Tells dispatchers that there are new jobs. */
export const JOBS_CHANNEL = 'mailwright_jobs';

/** A job leased to this worker. */
export interface LeasedJob {
  readonly id: number;
  readonly jobName: string;
  readonly payload: object;
  /** Tries that ended badly since the last good one. */
  readonly failures: number;
  readonly token: string;
  readonly scope: ProjectScope;
  /** The span that asked for it; null where that was not traced. */
  readonly traceparent: string | null;
}

/** The lease ran out and somebody else may have the job: whatever was done must not be committed. */
export class LeaseLostError extends Error {
  constructor() {
    super('The lease on this job was lost.');
  }
}

const LEASE_MS = 30_000;

/** 1 s, 2 s, 4 s … up to 15 min between the tries of a job. */
const [FIRST_RETRY_MS, LONGEST_RETRY_MS] = [1_000, 900_000];

/**
 * Writes jobs beside the rows that they are about, in the open transaction of a database: both are kept, or neither. A worker
 * runs each.
 */
export async function enqueue(
  database: Database,
  scope: ProjectScope,
  ...jobs: readonly NewJob[]
): Promise<void> {
  if (jobs.length === 0) return;
  const rows = jobs.map(({ kind: { jobName: name, queue }, payload, runAt: run_at }) => ({
    name,
    queue,
    payload,
    run_at,
  }));
  await sql`
    /* enqueue_jobs */ insert into platform.jobs (environment_id, name, queue, payload, run_at)
    select ${scope.environmentId}, j.name, j.queue, j.payload, coalesce(j.run_at, ${present})
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as j(name text, queue text, payload jsonb, run_at timestamptz)
    returning id
  `.execute(database.tables());
  database.notify(JOBS_CHANNEL);
}

/** Values of `field` in the payloads of jobs of a type that have not ended, for `in (…)`. */
export const openJobs = <Payload extends object>(
  { jobName }: JobType<Payload>,
  field: keyof Payload & string,
): RawBuilder<unknown> => sql`
  select payload ->> ${field} from platform.jobs where name = ${jobName} and finished_at is null
`;

/** A job that is due. */
export interface DueJob {
  readonly id: number;
  readonly name: string;
  readonly queue: QueueName;
  readonly attempts: number;
}

/** After so long in the queue a job is offered again under its old id: a no-op, unless the queue lost it. */
const OFFER_AGAIN_MS = 5_000;

/** True while a job is due, offered or not. */
export function areJobsDue(database: Database): Promise<boolean> {
  return database.holds(
    sql`(select run_at from platform.jobs where finished_at is null order by run_at limit 1) <= ${present}`,
  );
}

/** Marks due jobs as offered to the queue now, at most `most`: the new ones, and those that waited there for too long. */
export function offerDueJobs(database: Database, most: number): Promise<readonly DueJob[]> {
  return database.system(async () => {
    const { rows } = await sql<DueJob>`
      /* offer_jobs */ update platform.jobs set enqueued_at = ${present} where id in (
        select id from platform.jobs
        where finished_at is null and run_at <= ${present} and ${isUnleased}
          and (enqueued_at is null or enqueued_at < run_at or enqueued_at <= ${presentAnd(-OFFER_AGAIN_MS)})
        order by run_at limit ${most} for update skip locked
      ) returning id, name, queue, attempts
    `.execute(database.tables());
    return rows;
  });
}

/** Takes the job, or resolves to null when it is finished, not due or somebody else's. */
export function leaseJob(database: Database, id: number, token: string): Promise<LeasedJob | null> {
  return database.system(async () => {
    const { rows } = await sql<Omit<LeasedJob, 'id' | 'token' | 'scope'> & ProjectScope>`
      /* lease_job */ with leased as (
        update platform.jobs set ${leasedTo(token, LEASE_MS)}, attempts = attempts + 1
        where id = ${id} and finished_at is null and run_at <= ${present} and ${isUnleased}
        returning name, payload, failures, traceparent, environment_id
      )
      select l.name as job_name, l.payload, l.failures, l.traceparent, e.*
      from leased l cross join lateral access.find_environment(l.environment_id) e
    `.execute(database.tables());
    const [row] = rows;
    if (row === undefined) return null;
    const { jobName, payload, failures, traceparent, ...scope } = row;
    return { id, token, jobName, payload, failures, traceparent, scope };
  });
}

/** Lengthens the lease; false when it is lost. */
export function renewLease(database: Database, job: LeasedJob): Promise<boolean> {
  return change(database, job, leasedTo(job.token, LEASE_MS));
}

/** Ends the lease on a job that is not finished: anybody may take it now. */
export async function handBack(database: Database, job: LeasedJob): Promise<void> {
  await change(database, job, leasedTo(job.token, 0));
}

/** Writes how the job ended, in the caller's transaction. Throws `LeaseLostError` if it is no longer ours. */
export async function finishJob(database: Database, job: LeasedJob, result: JobResult): Promise<void> {
  if (!(await changeInside(database, job, sql`${ending(job, result)}, ${unleased}`)))
    throw new LeaseLostError();
}

/** Gives up for good, and says why. */
export async function failJob(database: Database, job: LeasedJob, reason: string): Promise<void> {
  await change(database, job, sql`${ended('FAILED')}, last_error = ${reason}, ${unleased}`);
}

const ended = (state: string) => sql`state = ${state}, finished_at = ${present}`;

function ending({ failures }: LeasedJob, result: JobResult): RawBuilder<unknown> {
  switch (result.kind) {
    case 'done':
      return ended('DONE');
    case 'cancel':
      return sql`${ended('CANCELLED')}, last_error = ${result.reason}`;
    case 'retry': {
      const wait = doublingBackoff(failures + 1, FIRST_RETRY_MS, LONGEST_RETRY_MS);
      return sql`run_at = ${presentAnd(wait)}, failures = failures + 1, last_error = ${result.reason}`;
    }
    case 'snooze':
      return sql`run_at = ${result.until}, failures = 0`;
  }
}

function change(database: Database, job: LeasedJob, columns: RawBuilder<unknown>): Promise<boolean> {
  return database.system(() => changeInside(database, job, columns));
}

/** False when the lease is lost. */
async function changeInside(
  database: Database,
  { id, token }: LeasedJob,
  columns: RawBuilder<unknown>,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    /* change_job */ update platform.jobs set ${columns} where id = ${id} and lease_token = ${token}
  `.execute(database.tables());
  return numAffectedRows === 1n;
}
