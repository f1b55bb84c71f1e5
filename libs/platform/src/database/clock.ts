import { type RawBuilder, sql } from 'kysely';
import { Clock } from '#kernel';
import { Loop } from '../lifecycle/loop.js';
import type { Database } from './database.js';

/** When the statement came to PostgreSQL, by its clock: what processes share in time is compared and written with it. */
export const present: RawBuilder<Date> = sql`platform.now()`;

/** So many milliseconds after it; before it, where they are negative. */
export function presentAnd(milliseconds: number): RawBuilder<Date> {
  return sql`platform.now() + ${milliseconds}::float8 * interval '1 millisecond'`;
}

const READ_EVERY_MS = 10_000;
/** What the server tells is cut to milliseconds. */
const RESOLUTION_MS = 1;

/**
 * PostgreSQL's time, as reckoned from its last answer: several machines agree, whatever their own clocks say. What they must
 * agree on to the millisecond, as leases, is written with `present` instead.
 */
export class DatabaseClock extends Clock {
  /** When this process's `performance.now()` was 0. The machine's own clock is all there is before the first answer. */
  #origin = performance.timeOrigin;
  #loop: Loop | undefined;

  override now(): Date {
    return new Date(Math.floor(this.#origin + performance.now()));
  }

  /** Asks the database now and again. Resolves with the first answer, or when there is none: then the next is waited for. */
  async follow(database: Database): Promise<void> {
    const read = () => this.#read(database);
    // A database that does not answer is told of by all who need it.
    this.#loop = new Loop(READ_EVERY_MS, read, () => undefined);
    await read().catch(() => undefined);
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop?.stop();
  }

  /** The server read its clock between question and answer: what fits into that is left as it is. */
  async #read(database: Database): Promise<void> {
    const asked = performance.now();
    const [row] = await database.statement('system', sql<{ readonly now: Date }>`select ${present} as now`);
    const answered = performance.now();
    if (row === undefined) return;
    const [earliest, latest] = [row.now.getTime() - answered, row.now.getTime() + RESOLUTION_MS - asked];
    if (this.#origin < earliest || this.#origin > latest) this.#origin = (earliest + latest) / 2;
  }
}
