/** Why the embedded PostgreSQL cannot run, in words for the person at the terminal. */
export class PostgresStartError extends Error {
  override readonly name = 'PostgresStartError';
}
