import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Triggers } from '#audience';
import type { ProjectScope } from '#kernel';
import { Database, present } from '#platform';
import { scopeOf } from './runs.query.js';

export interface FoundAutomation {
  readonly id: string;
  readonly scope: ProjectScope;
}

type Row = Parameters<typeof scopeOf>[0] & { readonly id: string };

/** Finds automations, of all projects, that people are to be let into or sent off from. */
@Injectable()
export class WaitingWork {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Triggers) private readonly triggers: Triggers,
  ) {}

  /** Whether there is anything to do at all: asked by every worker twice a second, so as cheaply as can be. */
  isAny(): Promise<boolean> {
    return this.database.holds(
      sql`(
        exists (
          select from messaging.automations a
          where a.status = 'ACTIVE' and exists (select from audience.signals s where s.watcher_id = a.id)
        )
        or exists (select from messaging.automations where is_closing)
        or ${isDue(false)}
      )`,
    );
  }

  /** Whether anybody is to be called. */
  isCalling(): Promise<boolean> {
    return this.database.holds(isDue(true));
  }

  /** Those for which something was noted. */
  entries(): Promise<readonly FoundAutomation[]> {
    return this.#find(sql`a.status = 'ACTIVE' and a.id in (${this.triggers.pending()})`);
  }

  /** Those that were archived with people inside. */
  closings(): Promise<readonly FoundAutomation[]> {
    return this.#find(sql`a.is_closing`);
  }

  #find(condition: RawBuilder<unknown>): Promise<readonly FoundAutomation[]> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<Row>`
        select a.id, e.* from messaging.automations a cross join lateral access.find_environment(a.environment_id) e
        where ${condition}
      `.execute(db);
      return rows.map(({ id, ...columns }) => ({ id, scope: scopeOf(columns) }));
    });
  }
}

/** A row at most is read for each version of an active automation, from the index: never planned as a scan of all runs. */
function isDue(isCalling: boolean): RawBuilder<unknown> {
  return sql`exists (
    select from messaging.automations a join messaging.automation_versions v on v.automation_id = a.id
    cross join lateral (
      select r.wake_at from messaging.automation_runs r
      where r.version_id = v.id and r.is_calling = ${sql.lit(isCalling)} and r.wake_at is not null
      order by r.wake_at limit 1
    ) soonest
    where a.status = 'ACTIVE' and soonest.wake_at <= ${present}
  )`;
}
