/** Errors of the network below a driver. */
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
]);

/** SQLSTATE, PostgreSQL appendix A: connections, resources, shutdown, cancelled and deadlocked statements. */
const SQL_STATES = /^(08...|53[0-3]00|57P0[1-5]|57014|55P03|40001|40P01|25P03)$/;

/** Words of drivers that give no code. */
const MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Cannot use a pool after calling end|Connection is closed|Command timed out|Reached the max retries per request)/;

/** Whether `error` says that the database or Redis did not answer, so that the same request may work later. */
export function isUnavailability(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > 5) return false;
  const code = 'code' in error ? error.code : undefined;
  if (typeof code === 'string' && (NETWORK_CODES.has(code) || SQL_STATES.test(code))) return true;
  if (MESSAGES.test(error.message)) return true;
  if (error instanceof AggregateError && error.errors.some((inner) => isUnavailability(inner, depth + 1))) return true;
  return isUnavailability(error.cause, depth + 1);
}
