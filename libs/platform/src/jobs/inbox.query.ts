import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { present, presentAnd } from '../clock/present.js';
import type { Database, Sql } from '../database/database.js';
import type { JobResult } from './job.js';

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

interface LeasedRow {
  readonly event_id: string;
  readonly handler: string;
  readonly payload: object;
  readonly failures: number;
  readonly tenant_id: number;
  readonly project_id: number;
  readonly environment_id: number;
  readonly environment: 'LIVE' | 'TEST';
}

/** The lease ran out and somebody else may have the job: whatever was done must not be committed. */
export class LeaseLostError extends Error {
  constructor() {
    super('The lease on this job was lost.');
  }
}

const LEASE_MS = 30_000;

/** Waits of 1 s, 2 s, 4 s … up to 15 min between the tries of a job. */
function retryDelayMs(failures: number): number {
  return Math.min(1_000 * 2 ** failures, 900_000);
}

/** Takes the job, or resolves to null when it is finished, not due or somebody else's. */
export async function leaseJob(database: Database, id: number, token: string): Promise<LeasedJob | null> {
  const row = await database.system(async ({ db }) => {
    const { rows } = await sql<LeasedRow>`
      with leased as (
        update platform.inbox set lease_token = ${token}, lease_until = ${presentAnd(LEASE_MS)}, attempts = attempts + 1
        where id = ${id} and finished_at is null and run_at <= ${present}
          and (lease_until is null or lease_until <= ${present})
        returning event_id, handler, payload, failures, environment_id
      )
      select l.event_id, l.handler, l.payload, l.failures, e.*
      from leased l cross join lateral access.find_environment(l.environment_id) e
    `.execute(db);
    return rows[0];
  });
  if (row === undefined) return null;
  const { tenant_id, project_id, environment_id, environment } = row;
  return {
    id,
    token,
    eventId: row.event_id,
    handler: row.handler,
    payload: row.payload,
    failures: row.failures,
    scope: { tenantId: tenant_id, projectId: project_id, environmentId: environment_id, environment },
  };
}

/** Lengthens the lease; false when it is lost. */
export function renewLease(database: Database, job: LeasedJob): Promise<boolean> {
  return endLeaseIn(database, job, LEASE_MS);
}

/** Ends the lease on a job that is not finished: anybody may take it now. */
export async function handBack(database: Database, job: LeasedJob): Promise<void> {
  await endLeaseIn(database, job, 0);
}

async function endLeaseIn(database: Database, job: LeasedJob, milliseconds: number): Promise<boolean> {
  return database.system(async ({ db }) => {
    const { numAffectedRows } = await sql`
      update platform.inbox set lease_until = ${presentAnd(milliseconds)} where id = ${job.id} and lease_token = ${job.token}
    `.execute(db);
    return numAffectedRows === 1n;
  });
}

/** Writes how the job ended, in the caller's transaction. Throws `LeaseLostError` if it is no longer ours. */
export async function finishJob(db: Sql, job: LeasedJob, result: JobResult): Promise<void> {
  const { numAffectedRows } = await ending(job, result).execute(db);
  if (numAffectedRows !== 1n) throw new LeaseLostError();
}

function ending(job: LeasedJob, result: JobResult) {
  const mine = sql`id = ${job.id} and lease_token = ${job.token}`;
  switch (result.kind) {
    case 'done':
      return sql`update platform.inbox set state = 'DONE', finished_at = ${present}, lease_token = null, lease_until = null where ${mine}`;
    case 'cancel':
      return sql`update platform.inbox set state = 'CANCELLED', finished_at = ${present}, last_error = ${result.reason}, lease_token = null, lease_until = null where ${mine}`;
    case 'retry':
      return sql`update platform.inbox set run_at = ${presentAnd(retryDelayMs(job.failures))}, failures = failures + 1, last_error = ${result.reason}, lease_token = null, lease_until = null where ${mine}`;
    case 'snooze':
      return sql`update platform.inbox set run_at = ${result.until}, failures = 0, lease_token = null, lease_until = null where ${mine}`;
  }
}

/** Gives up for good, and says why. */
export async function failJob(database: Database, job: LeasedJob, reason: string): Promise<void> {
  await database.system(({ db }) =>
    sql`
      update platform.inbox set state = 'FAILED', finished_at = ${present}, last_error = ${reason}, lease_token = null, lease_until = null
      where id = ${job.id} and lease_token = ${job.token}
    `.execute(db),
  );
}
