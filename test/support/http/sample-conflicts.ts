import type { Pool, PoolClient } from 'pg';

/** Tables for `refersToNothing` and `removesWhatIsReferredTo`; to be made by their owner. */
export const SHELVES = `
  create table shelves (id int primary key, height int not null default 1);
  create table books (shelf_id int references shelves);
  insert into shelves values (1);
  insert into books values (1);
  grant all on shelves, books to mailwright_app
`;

/** Conflicts of two that work at the same moment in PostgreSQL, each ending with its error. */
export const CONFLICTS = {
  'refers-to-nothing': (pool) => pool.query('insert into books values (2)'),
  'removes-what-is-referred-to': (pool) => pool.query('delete from shelves'),
  deadlock: (pool) =>
    withTwo(pool, async (one, other) => {
      await one.query('begin; select pg_advisory_xact_lock(1)');
      await other.query('begin; select pg_advisory_xact_lock(2)');
      const crossed = ['select pg_advisory_xact_lock(2)', 'select pg_advisory_xact_lock(1)'] as const;
      await Promise.all([one.query(crossed[0]), other.query(crossed[1])]);
    }),
  'not-serializable': (pool) =>
    withTwo(pool, async (one, other) => {
      await one.query('begin isolation level repeatable read; select * from shelves');
      await other.query('update shelves set height = height + 1');
      await one.query('update shelves set height = height + 1');
    }),
} as const satisfies Record<string, (pool: Pool) => Promise<unknown>>;

export type Conflict = keyof typeof CONFLICTS;

export function isConflict(text: string): text is Conflict {
  return Object.hasOwn(CONFLICTS, text);
}

async function withTwo(
  pool: Pool,
  work: (one: PoolClient, other: PoolClient) => Promise<void>,
): Promise<void> {
  const [one, other] = [await pool.connect(), await pool.connect()];
  try {
    await work(one, other);
  } finally {
    for (const client of [one, other]) client.release(true);
  }
}
