import { isReply } from './redis-failure.js';

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

/**
 * SQLSTATE, PostgreSQL appendix A: connections, access, resources, shutdown, cancelled and deadlocked statements, a server
 * that was demoted and may only be read, and one whose disk fails.
 */
const SQL_STATES =
  /^(08...|28(000|P01)|3D000|53[0-3]00|57P0[1-5]|57014|58000|58030|55P03|40001|40P01|25006|25P03)$/;

/** Words of drivers that give no code, and of a month that a worker has yet to make (CreatePartitions). */
const MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Cannot use a pool after calling end|Connection is closed|Command timed out|Reached the max retries per request|no partition of relation|The session was given to another server process)/;

const MAX_CAUSES = 5;

/** Whether `error` says that the database or Redis did not answer, so that the same request may work later. */
export function isUnavailability(error: unknown, causes = 0): boolean {
  if (typeof error !== 'object' || error === null || causes > MAX_CAUSES) return false;
  const { code, message, cause, errors } = error as Readonly<Record<string, unknown>>;
  // Whatever it is: what is asked of Redis is always right.
  if (isReply(error)) return true;
  if (typeof code === 'string' && (NETWORK_CODES.has(code) || SQL_STATES.test(code))) return true;
  if (typeof message === 'string' && MESSAGES.test(message)) return true;
  // Node's AggregateError: one error for each address that was tried.
  const inner: readonly unknown[] = Array.isArray(errors) ? [...errors, cause] : [cause];
  return inner.some((one) => isUnavailability(one, causes + 1));
}
