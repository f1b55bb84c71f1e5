import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock } from '#kernel';
import { Database } from '../database/database.js';
import { drainEnvironments } from '../database/environments-due.js';
import { drain } from './drain.js';
import { PeriodicTask } from './periodic-tasks.js';

/** Rows that nobody needs any more. */
export interface OldRows {
  /** With its schema. */
  readonly table: string;
  readonly where: RawBuilder<unknown>;
  /** Its rows are of no environment. */
  readonly isOfInstallation?: boolean;
}

const BATCH = 10_000;

/** Removes old rows of all projects, a batch a transaction: no lock is held long, and a worker that dies loses one batch. */
@Injectable()
export abstract class RemoveOldRows extends PeriodicTask {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    super();
  }

  /** In the order in which they go. */
  protected abstract old(now: Date): readonly OldRows[];

  override async run(): Promise<void> {
    for (const { table, where, isOfInstallation = false } of this.old(this.clock.now()))
      if (isOfInstallation)
        await drain(BATCH, () => this.database.system(() => this.#remove(table, where, BATCH)));
      else
        await drainEnvironments(
          this.database,
          { rows: sql`${sql.table(table)} where ${where}`, batch: BATCH },
          (id, most) => this.#remove(table, sql`environment_id = ${id} and ${where}`, most),
        );
  }

  async #remove(table: string, where: RawBuilder<unknown>, most: number): Promise<number> {
    // The condition stands outside too: a row that was changed meanwhile is looked at again.
    const { numAffectedRows = 0n } = await sql`
      delete from ${sql.table(table)}
      where ctid = any(array(select ctid from ${sql.table(table)} where ${where} limit ${most})) and ${where}
    `.execute(this.database.tables());
    return Number(numAffectedRows);
  }
}

/** So long before a time. */
export function before(time: Date, milliseconds: number): Date {
  return new Date(time.getTime() - milliseconds);
}
