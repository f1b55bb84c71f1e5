import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, PeriodicTask } from '#platform';

const CHUNK = 20_000;

/** Adds the deltas of counters to their rows, so that few are left to be summed up by who reads. */
@Injectable()
export class FoldCounters extends PeriodicTask {
  override readonly name = 'fold-counters';
  override readonly everyMs = 5_000;

  constructor(@Inject(Database) private readonly database: Database) {
    super();
  }

  override async run(): Promise<void> {
    while ((await this.#fold()) === CHUNK);
  }

  /** Returns how many deltas it took. */
  #fold(): Promise<number> {
    return this.database.system(async () => {
      const folded = sql<{ folded: number }>`select audience.fold_counters(${CHUNK}) as folded`;
      const { rows } = await folded.execute(this.database.tables());
      return rows[0]!.folded;
    });
  }
}
