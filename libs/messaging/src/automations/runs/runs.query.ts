import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Environment, ProjectScope } from '#kernel';
import { Database, environmentOf, present, type Sql } from '#platform';
import type { ClaimedRun, RunMove, TakenStep } from './step-batch.js';

interface ScopeColumns {
  readonly tenant_id: number;
  readonly project_id: number;
  readonly environment_id: number;
  readonly environment: Environment;
}

/** A version in which somebody has a step to take. */
export interface DueVersion {
  readonly scope: ProjectScope;
  readonly versionId: number;
}

/** Where people in automations stand: finds those who are to go on, and writes down where they went. */
@Injectable()
export class RunsQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Of all projects: one look at an index for each version of an active automation. */
  due(isCalling: boolean): Promise<readonly DueVersion[]> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<ScopeColumns & { version_id: number }>`
        select v.id as version_id, e.* from messaging.automations a
        join messaging.automation_versions v on v.automation_id = a.id
        cross join lateral access.find_environment(a.environment_id) e
        where a.status = 'ACTIVE' and exists (
          select from messaging.automation_runs r
          where r.version_id = v.id and r.is_calling = ${isCalling} and r.wake_at <= ${present}
        )
      `.execute(db);
      return rows.map(({ version_id: versionId, ...columns }) => ({ versionId, scope: scopeOf(columns) }));
    });
  }

  /** Until the transaction ends nobody else has them; who waited longest comes first. */
  async claim(
    db: Sql,
    { environmentId }: ProjectScope,
    versionId: number,
    limit: number,
  ): Promise<readonly ClaimedRun[]> {
    const { rows } = await sql<ClaimedRun>`
      select id, subscriber_id as "subscriberId", position, is_waiting as "isWaiting",
        (entered_at at time zone 'UTC')::date as "enteredOn"
      from messaging.automation_runs
      where environment_id = ${environmentOf({ environmentId })} and version_id = ${versionId} and is_calling = false and wake_at <= ${present}
      order by wake_at limit ${limit} for update skip locked
    `.execute(db);
    return rows;
  }

  /** The moves and the steps that led to them, in one statement, which names the runs twice: else it may read all of them. */
  async save(
    db: Sql,
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
      )
      update messaging.automation_runs r set position = m.position, wake_at = m.wake_at, is_waiting = m.is_waiting,
        is_calling = m.is_calling, status = m.status, attempts = 0,
        finished_at = case when m.wake_at is null then ${now}::timestamptz end
      from unnest(${move('id')}::uuid[], ${move('position')}::smallint[], ${move('wakeAt')}::timestamptz[],
        ${move('isWaiting')}::boolean[], ${move('isCalling')}::boolean[], ${move('status')}::text[])
        m(id, position, wake_at, is_waiting, is_calling, status)
      where r.id = any(${move('id')}::uuid[]) and r.id = m.id and r.environment_id = ${environmentOf({ environmentId })}
    `.execute(db);
  }
}

export function scopeOf({ tenant_id, project_id, environment_id, environment }: ScopeColumns): ProjectScope {
  return { tenantId: tenant_id, projectId: project_id, environmentId: environment_id, environment };
}
