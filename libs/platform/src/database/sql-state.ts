/** Conditions that something is made of, by their names in PostgreSQL, appendix A. */
export const SQL_STATE = {
  foreignKeyViolation: '23503',
  lockNotAvailable: '55P03',
  uniqueViolation: '23505',
} as const;

/** SQLSTATE of what the server refused; of an error of another kind its own code, or null without any. */
export function sqlStateOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
