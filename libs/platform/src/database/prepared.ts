import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';

export const PREPARED_MARK = '/* prepared */';
/** In front of a template, or behind the first word of what a builder makes (`modifyFront`). */
const MARKED = /^(?:[a-z]+ )?\/\* prepared \*\//;
/** Of a pool. More texts than that are no few hot ones: those that come later are not prepared. */
const MAX_STATEMENTS = 100;
/** What a table has grown by in that time costs little to read once more. */
const MAX_PLAN_USES = 500;
const MAX_PLAN_AGE_MS = 10_000;

/**
 * Begins a statement, or follows its first word (`.modifyFront(prepared)`), that is asked again and again by the same text:
 * each connection parses it once, and plans it once for a while. The plan is made for any values, so each value must lead
 * to the same index. For statements that share a transaction with others; one that stands alone is a
 * `Database.statement`, which needs no transaction around it.
 */
export const prepared: RawBuilder<unknown> = sql.raw(PREPARED_MARK);

/**
 * Lets a connection prepare the statements that are marked. `names` is its pool's: a name stands for the same text on
 * each of its connections.
 *
 * A plan that was made while a table had one page, where every way of reading it costs the same, would read all of it
 * again and again when it has thousands; until the table is analysed nothing else makes PostgreSQL think again. So plans are
 * discarded from time to time.
 */
export function keepPrepared(client: pg.ClientBase, names: Map<string, string>): void {
  const query = client.query.bind(client) as (...parameters: unknown[]) => unknown;
  let [uses, since] = [0, performance.now()];
  const discardOldPlans = (): void => {
    uses += 1;
    if (uses <= MAX_PLAN_USES && performance.now() - since < MAX_PLAN_AGE_MS) return;
    [uses, since] = [1, performance.now()];
    // Where it fails, what follows on the same connection does, and that is waited for.
    void client.query('discard plans').catch(() => undefined);
  };
  Object.assign(client, {
    query: (text: unknown, values: unknown, ...rest: unknown[]) => {
      const name = typeof text === 'string' && MARKED.test(text) ? nameOf(text, names) : undefined;
      if (name === undefined) return query(text, values, ...rest);
      discardOldPlans();
      return query({ name, text, values }, ...rest);
    },
  });
}

function nameOf(text: string, names: Map<string, string>): string | undefined {
  if (!names.has(text) && names.size < MAX_STATEMENTS) names.set(text, `mailwright_${names.size + 1}`);
  return names.get(text);
}
