import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
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

/** Takes the job, or resolves to null when it is finished, not due or somebody else's. */
export async function leaseJob(
  database: Database,
  id: number,
  token: string,
  now: Date,
  until: Date,
): Promise<LeasedJob | null> {
  const row = await database.system(async ({ db }) => {
    const { rows } = await sql<LeasedRow>`
      with leased as (
        update platform.inbox set lease_token = ${token}, lease_until = ${until}, attempts = attempts + 1
        where id = ${id} and finished_at is null and run_at <= ${now}
          and (lease_until is null or lease_until <= ${now})
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
export async function renewLease(database: Database, job: LeasedJob, until: Date): Promise<boolean> {
  return database.system(async ({ db }) => {
    const { numAffectedRows } = await sql`
      update platform.inbox set lease_until = ${until} where id = ${job.id} and lease_token = ${job.token}
    `.execute(db);
    return numAffectedRows === 1n;
  });
}

/** Writes how the job ended, in the caller's transaction. Throws `LeaseLostError` if it is no longer ours. */
export async function finishJob(
  db: Sql,
  job: LeasedJob,
  result: JobResult,
  now: Date,
  retryAt: Date,
): Promise<void> {
  const { numAffectedRows } = await ending(job, result, now, retryAt).execute(db);
  if (numAffectedRows !== 1n) throw new LeaseLostError();
}

function ending(job: LeasedJob, result: JobResult, now: Date, retryAt: Date) {
  const mine = sql`id = ${job.id} and lease_token = ${job.token}`;
  switch (result.kind) {
    case 'done':
      return sql`update platform.inbox set state = 'DONE', finished_at = ${now}, lease_token = null, lease_until = null where ${mine}`;
    case 'cancel':
      return sql`update platform.inbox set state = 'CANCELLED', finished_at = ${now}, last_error = ${result.reason}, lease_token = null, lease_until = null where ${mine}`;
    case 'retry':
      return sql`update platform.inbox set run_at = ${retryAt}, failures = failures + 1, last_error = ${result.reason}, lease_token = null, lease_until = null where ${mine}`;
    case 'snooze':
      return sql`update platform.inbox set run_at = ${result.until}, failures = 0, lease_token = null, lease_until = null where ${mine}`;
  }
}

/** Gives up for good, and says why. */
export async function failJob(database: Database, job: LeasedJob, reason: string, now: Date): Promise<void> {
  await database.system(({ db }) =>
    sql`
      update platform.inbox set state = 'FAILED', finished_at = ${now}, last_error = ${reason}, lease_token = null, lease_until = null
      where id = ${job.id} and lease_token = ${job.token}
    `.execute(db),
  );
}
