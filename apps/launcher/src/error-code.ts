/** The system's code for an error, such as `ENOENT`, or undefined. */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
