import { SQL_STATE, sqlStateOf } from '../../database/sql-state.js';

/** PostgreSQL says the same code when a row is removed that others refer to: `update or delete on table`. */
const ROW_THAT_REFERS = /insert or update on table "[^"]+" violates foreign key constraint/;

/**
 * Whether `error` says that a row which was to be referred to is not there: it was when the request looked, so it went at
 * that very moment. A server that speaks another language than English is not understood.
 */
export function isVanishedReference(error: unknown): boolean {
  return (
    error instanceof Error &&
    sqlStateOf(error) === SQL_STATE.foreignKeyViolation &&
    ROW_THAT_REFERS.test(error.message)
  );
}
