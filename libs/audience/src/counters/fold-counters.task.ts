import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, drainEnvironments, PeriodicTask } from '#platform';

const CHUNK = 20_000;

/** Adds the deltas of counters to their rows, so that readers have few to sum up. */
@Injectable()
export class FoldCounters extends PeriodicTask {
  override readonly name = 'fold-counters';
  override readonly everyMs = 5_000;

  constructor(private readonly database: Database) {
    super();
  }

  override async run(): Promise<void> {
    await drainEnvironments(
      this.database,
      { rows: sql`audience.counter_deltas`, batch: CHUNK },
      async (environmentId, most) => {
        const { rows } = await folded(environmentId, most).execute(this.database.tables());
        return rows[0]!.folded;
      },
    );
  }
}

/**
 * Adds up to `most` deltas to their counters and removes them. Two that run at once take different deltas, and their counters in
 * one order.
 */
function folded(environmentId: number, most: number): RawBuilder<{ readonly folded: number }> {
  return sql<{ folded: number }>`
    with taken as (
      delete from audience.counter_deltas
      where environment_id = ${environmentId} and ctid = any (array(
        select ctid from audience.counter_deltas where environment_id = ${environmentId} limit ${most} for update skip locked
      ))
      returning kind, key, state, delta
    ), folded as (
      insert into audience.counters as c (environment_id, kind, key, state, value)
      select ${environmentId}::bigint, kind, key, state, sum(delta) from taken
      group by kind, key, state having sum(delta) <> 0
      order by kind, key, state
      on conflict (environment_id, kind, key, state) do update set value = c.value + excluded.value
    )
    select count(*) as folded from taken
  `;
}
