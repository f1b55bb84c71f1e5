import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';

/** Value in a template that the compiler hides from the planner; not from that of Citus, which chooses the node by it. */
export class HiddenValue {
  constructor(readonly value: number) {}
}

/** Part of a template that keeps a comparison from being answered by an index; Citus must recognise it, and gets it without. */
export class WithoutIndex {}

/** An id whose statistics the planner must not go by. */
export function hidden(id: number): RawBuilder<number> {
  return sql<number>`${new HiddenValue(id)}`;
}

/**
 * The environment, for a statement that looks up people by an address. The planner must not know which one it is: of an
 * environment that has grown since the table was analysed it believes that it has no rows, any index that begins with the
 * environment then seems as good as the right one, and a look-up reads all of its rows. Unknown, it is taken for one of
 * average size.
 */
export function environmentOf({ environmentId }: Pick<ProjectScope, 'environmentId'>): RawBuilder<number> {
  return hidden(environmentId);
}

/** Condition: the row is of the environment; no index answers it, so that another one must find the row. */
export function isOf(
  scope: Pick<ProjectScope, 'environmentId'>,
  column: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql<boolean>`(${column} = ${environmentOf(scope)})${new WithoutIndex()}`;
}

/**
 * Ends a subselect that is a look-up for each row: the planner never makes a join of it, which would read all that belongs to
 * a project where statistics say that this is nothing.
 */
export const neverJoined: RawBuilder<unknown> = sql.raw('offset 0');
