import { type RawBuilder, sql } from 'kysely';
import { containsAll } from './field-predicate.query.js';

/** A part of a predicate before it is rendered as SQL. */
export type Part =
  | { readonly part: 'constant'; readonly value: boolean }
  /** Of the subscriber's own row. */
  | { readonly part: 'value'; readonly sql: RawBuilder<boolean> }
  /** Of its custom fields: they contain these values. */
  | { readonly part: 'contains'; readonly values: Readonly<Record<string, unknown>> }
  /** Whether the subscriber is among the rows of a SELECT of `subscriber_id`. */
  | { readonly part: 'among'; readonly rows: RawBuilder<unknown>; readonly negated: boolean }
  | { readonly part: 'all' | 'any'; readonly parts: readonly Part[] };

const NEVER: Part = { part: 'constant', value: false };

/** A part that holds when all of these hold. */
export function allOf(parts: readonly Part[]): Part {
  const open = parts
    .flatMap((part) => (part.part === 'all' ? part.parts : [part]))
    .filter((part) => !isConstant(part, true));
  if (open.some((part) => isConstant(part, false))) return NEVER;
  const all = joinedContainments(open);
  return only(all) ?? (all.length === 0 ? { part: 'constant', value: true } : { part: 'all', parts: all });
}

/** Merges what the custom fields must contain; the second of two values for one field stays separate. */
function joinedContainments(parts: readonly Part[]): readonly Part[] {
  const joined: Record<string, unknown> = {};
  const others = parts.filter((part) => {
    if (part.part !== 'contains' || Object.keys(part.values).some((key) => Object.hasOwn(joined, key)))
      return true;
    Object.assign(joined, part.values);
    return false;
  });
  return Object.keys(joined).length === 0 ? others : [{ part: 'contains', values: joined }, ...others];
}

/** Merges alternatives: a subscriber in one SELECT or another is in their union. */
export function anyOf(parts: readonly Part[]): Part {
  const open = parts
    .flatMap((part) => (part.part === 'any' ? part.parts : [part]))
    .filter((part) => !isConstant(part, false));
  if (open.some((part) => isConstant(part, true))) return { part: 'constant', value: true };
  const among = open.flatMap((part) => (part.part === 'among' && !part.negated ? [part.rows] : []));
  const others = open.filter((part) => part.part !== 'among' || part.negated);
  const all: Part[] = [
    ...others,
    ...(among.length === 0
      ? []
      : [{ part: 'among', rows: sql.join(among, sql` union all `), negated: false } as const]),
  ];
  return only(all) ?? (all.length === 0 ? NEVER : { part: 'any', parts: all });
}

/** The condition in SQL, of a row called `b`. */
export function written(part: Part): RawBuilder<boolean> {
  switch (part.part) {
    case 'constant':
      return part.value ? sql<boolean>`true` : sql<boolean>`false`;
    case 'value':
      return part.sql;
    case 'contains':
      return containsAll(part.values);
    case 'among': {
      const among = sql<boolean>`exists (select 1 from (${part.rows}) s where s.subscriber_id = b.id)`;
      return part.negated ? sql`not ${among}` : among;
    }
    case 'all':
    case 'any': {
      // Conditions on the row itself come first.
      const inOrder = [...part.parts].sort((one, other) => rank(one) - rank(other));
      return sql`(${sql.join(inOrder.map(written), part.part === 'all' ? sql` and ` : sql` or `)})`;
    }
  }
}

function rank(part: Part): number {
  return { constant: 0, contains: 0, value: 0, all: 1, any: 1, among: 2 }[part.part];
}

function only(parts: readonly Part[]): Part | undefined {
  return parts.length === 1 ? parts[0] : undefined;
}

function isConstant(part: Part, value: boolean): boolean {
  return part.part === 'constant' && part.value === value;
}
