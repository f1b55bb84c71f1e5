import { type RawBuilder, sql } from 'kysely';
import { Clock } from '#kernel';
import { Loop } from '../lifecycle/loop.js';
import type { Database } from './database.js';
import { named } from './statement.js';

/** Arrival of the statement at PostgreSQL, by its clock: times that processes share are compared and written with it. */
export const present: RawBuilder<Date> = sql`platform.now()`;

/** So many milliseconds after `present`; before it, where they are negative. */
export function presentAnd(milliseconds: number): RawBuilder<Date> {
  return sql`platform.now() + ${milliseconds}::float8 * interval '1 millisecond'`;
}

const READ_EVERY_MS = 10_000;
/** Resolution of the server's answers. */
const RESOLUTION_MS = 1;

/**
 * PostgreSQL's time, as reckoned from its last answer: machines agree, whatever their own clocks say. Times that must agree to
 * the millisecond, such as leases, are written with `present` instead.
 */
export class DatabaseClock extends Clock {
  /** Time of `performance.now()` 0; by the machine's own clock before the first answer. */
  #origin = performance.timeOrigin;
  #loop: Loop | undefined;

  override now(): Date {
    return new Date(Math.floor(this.#origin + performance.now()));
  }

  /** Asks the database now and again. Resolves with the first answer, or when there is none. */
  async follow(database: Database): Promise<void> {
    const read = () => this.#read(database);
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
    const [row] = await database.statement(
      'system',
      sql<{ readonly now: Date }>`${named('clock')} select ${present} as now`,
    );
    const answered = performance.now();
    if (row === undefined) return;
    const [earliest, latest] = [row.now.getTime() - answered, row.now.getTime() + RESOLUTION_MS - asked];
    if (this.#origin < earliest || this.#origin > latest) this.#origin = (earliest + latest) / 2;
  }
}
