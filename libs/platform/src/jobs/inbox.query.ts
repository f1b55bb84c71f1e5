import { type RawBuilder, sql } from 'kysely';
import { doublingBackoff, type ProjectScope } from '#kernel';
import { present, presentAnd } from '../database/clock.js';
import type { Database } from '../database/database.js';
import type { JobResult } from './job.js';
import { isUnleased, leasedTo, unleased } from './lease.js';

/** One event for one handler, leased to this worker. */
export interface LeasedJob {
  readonly id: number;
  readonly eventId: string;
  readonly handler: string;
  readonly payload: object;
  /** Tries that ended badly since the last good one. */
  readonly failures: number;
  readonly token: string;
  readonly scope: ProjectScope;
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

/** Takes the job, or resolves to null when it is finished, not due or somebody else's. */
export function leaseJob(database: Database, id: number, token: string): Promise<LeasedJob | null> {
  return database.system(async () => {
    const { rows } = await sql<Omit<LeasedJob, 'id' | 'token' | 'scope'> & ProjectScope>`
      with leased as (
        update platform.inbox set ${leasedTo(token, LEASE_MS)}, attempts = attempts + 1
        where id = ${id} and finished_at is null and run_at <= ${present} and ${isUnleased}
        returning event_id, handler, payload, failures, environment_id
      )
      select l.event_id, l.handler, l.payload, l.failures, e.*
      from leased l cross join lateral access.find_environment(l.environment_id) e
    `.execute(database.tables());
    const [row] = rows;
    if (row === undefined) return null;
    const { eventId, handler, payload, failures, ...scope } = row;
    return { id, token, eventId, handler, payload, failures, scope };
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
    update platform.inbox set ${columns} where id = ${id} and lease_token = ${token}
  `.execute(database.tables());
  return numAffectedRows === 1n;
}
