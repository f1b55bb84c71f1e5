import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '#platform';

/** A counter of an automation that differs from its runs. */
export interface AutomationDiscrepancy {
  readonly automationId: string;
  readonly counter: 'entered' | 'completed' | 'ended';
  readonly counted: number;
  /** Counted from the runs. */
  readonly actual: number;
}

/** Compares the counters of automations with their runs. */
@Injectable()
export class AutomationsCheckQuery {
  constructor(private readonly database: Database) {}

  /** Over all projects; none when all is well. Reads all runs, in one snapshot. */
  discrepancies(): Promise<readonly AutomationDiscrepancy[]> {
    return this.database.system(async () => {
      const { rows } = await sql<AutomationDiscrepancy>`
        with counted as (
          select environment_id, automation_number as number, sum(entered)::bigint as entered, sum(completed)::bigint as completed,
            sum(ended)::bigint as ended
          from messaging.automation_counters group by environment_id, automation_number
        ), actual as (
          select environment_id, automation_number as number, count(*) as entered,
            count(*) filter (where status in ('COMPLETED', 'CONVERTED')) as completed,
            count(*) filter (where status in ('FAILED', 'CANCELLED')) as ended
          from messaging.automation_runs group by environment_id, automation_number
        )
        select m.id as automation_id, v.counter, v.counted, v.actual
        from counted c full join actual a using (environment_id, number) join messaging.automations m using (environment_id, number)
        cross join lateral (values
          ('entered', coalesce(c.entered, 0), coalesce(a.entered, 0)),
          ('completed', coalesce(c.completed, 0), coalesce(a.completed, 0)),
          ('ended', coalesce(c.ended, 0), coalesce(a.ended, 0))
        ) v(counter, counted, actual)
        where v.counted <> v.actual order by 1, 2
      `.execute(this.database.tables());
      return rows;
    });
  }
}
