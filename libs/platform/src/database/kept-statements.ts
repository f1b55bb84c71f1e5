import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import { FORGET_PLANS, PlanAge } from './plan-age.js';

const MARK = '/* prepared */';
/** In front of a template, or behind the first word of what a builder makes (`modifyFront`). */
const MARKED = /^(?:[a-z]+ )?\/\* prepared \*\//;
/** More texts than that are no few hot ones: a mark stands where a text changes. */
const MAX_STATEMENTS = 100;

/**
 * Begins a statement, or follows its first word (`.modifyFront(prepared)`), that is asked for again and again, always by the same text: a connection parses and plans it
 * once for a while, and not at each time. The plan is made for any values, so each must lead to the same index. For
 * statements that share a transaction with others; one that stands alone is a `Database.statement`, which needs no
 * transaction around it.
 */
export const prepared: RawBuilder<unknown> = sql.raw(MARK);

const names = new Map<string, string>();

/** Lets the connection keep the statements that are marked so. */
export function keepPrepared(client: pg.ClientBase): void {
  const query = client.query.bind(client) as (...parameters: unknown[]) => unknown;
  const age = new PlanAge();
  Object.assign(client, {
    query: (text: unknown, values: unknown, ...rest: unknown[]) => {
      const name = typeof text === 'string' && MARKED.test(text) ? nameOf(text) : undefined;
      if (name === undefined) return query(text, values, ...rest);
      // Where it fails, what follows on the same connection does, and that is waited for.
      if (age.isOver()) void client.query(FORGET_PLANS).catch(() => undefined);
      return query({ name, text, values }, ...rest);
    },
  });
}

/** A name that stands for the text on every connection; undefined when there are too many others. */
export function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= MAX_STATEMENTS) return known;
  const name = `mailwright_${names.size + 1}`;
  names.set(text, name);
  return name;
}
