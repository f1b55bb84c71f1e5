import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, drain, PeriodicTask } from '#platform';

const CHUNK = 20_000;

/** Adds the deltas of counters to their rows, so that readers have few to sum up. */
@Injectable()
export class FoldCounters extends PeriodicTask {
  override readonly name = 'fold-counters';
  override readonly everyMs = 5_000;

  constructor(@Inject(Database) private readonly database: Database) {
    super();
  }

  override async run(): Promise<void> {
    await drain(CHUNK, () => this.#fold());
  }

  /** Returns how many deltas it added. */
  #fold(): Promise<number> {
    return this.database.system(async () => {
      const folded = sql<{ folded: number }>`select audience.fold_counters(${CHUNK}) as folded`;
      const { rows } = await folded.execute(this.database.tables());
      return rows[0]!.folded;
    });
  }
}
