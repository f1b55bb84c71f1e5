import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { environmentScopes } from '#access';
import { TriggersService, WaitsService } from '#audience';
import type { ProjectScope } from '#kernel';
import { Database, neverJoined, present } from '#platform';

export interface FoundAutomation {
  readonly id: string;
  readonly scope: ProjectScope;
}

/** A version with runs that are due. */
export interface DueVersion {
  readonly scope: ProjectScope;
  readonly versionId: number;
}

/** Finds due work of automations, in all projects. */
@Injectable()
export class DueWorkQuery {
  constructor(
    private readonly database: Database,
    private readonly triggers: TriggersService,
    private readonly waits: WaitsService,
  ) {}

  /** True when any work but webhooks is due. Cheap, since every worker asks twice a second. */
  isAny(): Promise<boolean> {
    return this.database.holds(
      sql`(
        exists (
          select 1 from messaging.automations a
          where a.status = 'ACTIVE' and exists (
            select 1 from audience.recorded_triggers s
            where s.watcher_id = a.id and s.environment_id = a.environment_id ${neverJoined}
          )
        )
        or exists (select 1 from messaging.automations where is_closing)
        or ${this.waits.isAnyFulfilled()}
        or ${isDue(false)}
      )`,
    );
  }

  /** True when any webhook is due. */
  isCalling(): Promise<boolean> {
    return this.database.holds(isDue(true));
  }

  /** Active automations whose trigger has fired. */
  async entries(): Promise<readonly FoundAutomation[]> {
    return this.#found(sql`a.status = 'ACTIVE' and (a.id, a.environment_id) in (${this.triggers.pending()})`);
  }

  /** Environments in which happened what runs wait for. */
  async fulfilled(): Promise<readonly ProjectScope[]> {
    return this.database.system(async () => {
      const { rows } = await sql<ProjectScope>`
        select e.* from ${environmentScopes} e where ${this.waits.isFulfilledIn(sql`e.environment_id`)}
      `.execute(this.database.tables());
      return rows;
    });
  }

  /** Archived automations with active runs. */
  async closings(): Promise<readonly FoundAutomation[]> {
    return this.#found(sql`a.is_closing`);
  }

  /** Versions of active automations with due steps, or with due webhooks: one look at an index for each version. */
  async versions(isCalling: boolean): Promise<readonly DueVersion[]> {
    const rows = await this.#find<{ readonly versionId: number }>(
      sql`v.id as version_id`,
      sql`join messaging.automation_versions v on v.automation_id = a.id and v.environment_id = a.environment_id`,
      sql`a.status = 'ACTIVE' and exists (
        select 1 from messaging.automation_runs r
        where r.version_id = v.id and r.environment_id = v.environment_id and r.is_calling = ${isCalling}
          and r.wake_at <= ${present}
      )`,
    );
    return rows.map(({ versionId, ...scope }) => ({ versionId, scope }));
  }

  async #found(condition: RawBuilder<unknown>): Promise<readonly FoundAutomation[]> {
    const rows = await this.#find<{ readonly id: string }>(sql`a.id`, sql``, condition);
    return rows.map(({ id, ...scope }) => ({ id, scope }));
  }

  #find<Found>(
    found: RawBuilder<unknown>,
    join: RawBuilder<unknown>,
    condition: RawBuilder<unknown>,
  ): Promise<readonly (Found & ProjectScope)[]> {
    return this.database.system(async () => {
      const { rows } = await sql<Found & ProjectScope>`
        select ${found}, e.* from messaging.automations a ${join}
        join ${environmentScopes} e on e.environment_id = a.environment_id where ${condition}
      `.execute(this.database.tables());
      return rows;
    });
  }
}

/** Reads one row of the index at most for each version of an active automation, and is never planned as a scan of all runs. */
function isDue(isCalling: boolean): RawBuilder<unknown> {
  return sql`exists (
    select 1 from messaging.automations a
    join messaging.automation_versions v on v.automation_id = a.id and v.environment_id = a.environment_id
    cross join lateral (
      select r.wake_at from messaging.automation_runs r
      where r.version_id = v.id and r.environment_id = v.environment_id and r.is_calling = ${sql.lit(isCalling)}
        and r.wake_at is not null
      order by r.wake_at limit 1
    ) soonest
    where a.status = 'ACTIVE' and soonest.wake_at <= ${present}
  )`;
}
