import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import type { ProjectScope } from '#kernel';

/**
 * The environment, for a statement that looks up people by an address. The planner must not know which one it is: of an
 * environment that has grown since the table was analysed it believes that it has no rows, any index that begins with the
 * environment then seems as good as the right one, and a look-up reads all of its rows. Unknown, it is taken for one of
 * average size.
 */
export function environmentOf({ environmentId }: Pick<ProjectScope, 'environmentId'>): RawBuilder<number> {
  return sql<number>`(select ${environmentId}::bigint)`;
}

/** Condition: the row is of the environment; no index answers it, so that another one must find the row. */
export function isOf(
  scope: Pick<ProjectScope, 'environmentId'>,
  column: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql<boolean>`(${column} = ${environmentOf(scope)}) is true`;
}

const HIDDEN_ENVIRONMENT = /\(select (\$?\d+)::bigint\)/g;
const HIDDEN_COMPARISON = /\((\w+\.environment_id = \$\d+::bigint)\) is true/g;

/** Lets a connection to Citus name each environment outright: its planner must know it, since it chooses the node by it. */
export function nameEnvironments(client: pg.ClientBase): void {
  const query = client.query.bind(client) as (...parameters: unknown[]) => unknown;
  Object.assign(client, {
    query: (text: unknown, ...rest: unknown[]) =>
      query(typeof text === 'string' ? withEnvironments(text) : text, ...rest),
  });
}

function withEnvironments(text: string): string {
  return text.replace(HIDDEN_ENVIRONMENT, '$1::bigint').replace(HIDDEN_COMPARISON, '$1');
}

/**
 * Ends a subselect that is a look-up for each row: the planner never makes a join of it, which would read all that belongs to
 * a project where statistics say that this is nothing.
 */
export const neverJoined: RawBuilder<unknown> = sql.raw('offset 0');
