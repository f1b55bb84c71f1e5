/** What a table has grown by in that time costs little to read once more. */
const MOST_STATEMENTS = 500;
const MOST_MS = 10_000;

/** Has PostgreSQL forget the plans that a connection keeps; what is asked for next is planned anew. */
export const FORGET_PLANS = 'discard plans';

/**
 * The age of the plans that a connection keeps. A plan that was made while a table had one page, where every way of
 * reading it costs the same, would read all of it again and again when it has thousands; until the table is analysed
 * nothing else makes PostgreSQL think again.
 */
export class PlanAge {
  #statements = 0;
  #since = performance.now();

  /** Called for each statement that is kept: true when the plans are to be forgotten before it. */
  isOver(): boolean {
    this.#statements += 1;
    if (this.#statements <= MOST_STATEMENTS && performance.now() - this.#since < MOST_MS) return false;
    this.#statements = 1;
    this.#since = performance.now();
    return true;
  }
}
