import { type RawBuilder, sql } from 'kysely';
import { present, presentAnd } from '../database/clock.js';

/**
 * A lease is one worker's hold on a row, by PostgreSQL's clock. A worker that lives ends it, or renews it if its work may
 * take longer; what a worker that died held may be taken by others when it runs out.
 *
 * Rows of `lease_token` and `lease_until`: who writes later says by which token, one for each claim, so that what was taken
 * away meanwhile, or claimed again, is not written.
 */
export const leasedTo = (token: string, milliseconds: number): RawBuilder<unknown> =>
  sql`lease_token = ${token}, lease_until = ${presentAnd(milliseconds)}`;

/** Ends it. */
export const unleased: RawBuilder<unknown> = sql`lease_token = null, lease_until = null`;

/** Condition that nobody has the row, or its owner has died. */
export const isUnleased: RawBuilder<boolean> = sql`(lease_until is null or lease_until <= ${present})`;

/** Rows with a time at which they are due. */
export interface DueRows {
  /** Qualified name. */
  readonly table: string;
  readonly key: string;
  /** The environment to take rows of, in tables of environments. */
  readonly environmentId?: number;
  /** The column of the time. */
  readonly due: string;
  /** More than that they are due. */
  readonly where?: RawBuilder<unknown>;
  readonly limit: number;
  readonly leaseMs: number;
  /** Further assignments, beginning with a comma. */
  readonly set?: RawBuilder<unknown>;
}

const ANY = sql`true`;
const NOTHING = sql``;

/**
 * An UPDATE, for `returning` to follow, that leases those which are due longest and nobody else takes just now: they are due
 * again when the lease runs out. Who is done earlier removes them, or says when they are due next; where the lease may have
 * run out by then, only if the time, or the number of attempts, is still the one of its claim.
 */
export function leaseDue({
  table,
  key,
  environmentId,
  due,
  where = ANY,
  limit,
  leaseMs,
  set = NOTHING,
}: DueRows) {
  const [name, id, at] = [sql.table(table), sql.ref(key), sql.ref(due)];
  const isMeant = environmentId === undefined ? ANY : sql`environment_id = ${environmentId}`;
  // An array is made once, whatever the plan; a join might make it for each row, and lock others each time.
  return sql`
    update ${name} set ${at} = ${presentAnd(leaseMs)} ${set}
    where ${isMeant} and ${id} = any(array(
      select ${id} from ${name} where ${isMeant} and ${at} <= ${present} and ${where}
      order by ${at} limit ${limit} for update skip locked
    ))`;
}
