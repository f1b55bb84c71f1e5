import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError } from '../logger.js';
import { isReply } from './redis-failure.js';

/** Causes of an error that are looked through. */
const MAX_CAUSES = 5;

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
 * SQLSTATEs (PostgreSQL, appendix A) of connections, access, resources, shutdown, cancelling, deadlock, read-only, failing disk.
 */
const SQL_STATES =
  /^(08...|28(000|P01)|3D000|53[0-3]00|57P0[1-5]|57014|58000|58030|55P03|40001|40P01|25006|25P03)$/;

/** Words of drivers without a code, and for a month that a worker has yet to make (CreatePartitions). */
const MESSAGES = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Client has encountered a connection error',
  'Cannot use a pool after calling end',
  'Connection is closed',
  'Command timed out',
  'Reached the max retries per request',
  'no partition of relation',
  'The session was given to another server process',
];

/** True for an error of a database or Redis that did not answer: the same request may work later. */
export function isUnavailability(error: unknown, causes = 0): boolean {
  if (typeof error !== 'object' || error === null || causes > MAX_CAUSES) return false;
  const { code, message, cause, errors } = error as Readonly<Record<string, unknown>>;
  // Any error reply of Redis: our commands are right.
  if (isReply(error)) return true;
  if (typeof code === 'string' && (NETWORK_CODES.has(code) || SQL_STATES.test(code))) return true;
  if (typeof message === 'string' && MESSAGES.some((words) => message.startsWith(words))) return true;
  // Node's AggregateError: one error for each address that was tried.
  const inner: readonly unknown[] = Array.isArray(errors) ? [...errors, cause] : [cause];
  return inner.some((one) => isUnavailability(one, causes + 1));
}

/** Told of an outage. */
export interface OutageListener {
  readonly begins: (error: unknown) => void;
  readonly ends: () => void;
}

const LOOK_EVERY_MS = 1_000;

/** Property of marked errors, which the ORM copies to its own. */
const MARK = 'isOfOutage';

/**
 * Outage of something that the process needs, such as the database: told of once at its beginning and at its end, however many
 * notice it. While it is on, `probe` looks for its end.
 */
export class Outage {
  #begun: { readonly error: unknown } | undefined;
  #listener: OutageListener | undefined;

  constructor(
    private readonly probe: () => Promise<unknown>,
    private readonly lookEveryMs = LOOK_EVERY_MS,
  ) {}

  /** Tells `listener` from now on. Before, nothing counts as an outage: a program that cannot start says so itself. */
  tell(listener: OutageListener): void {
    this.#listener = listener;
  }

  get isOn(): boolean {
    return this.#begun !== undefined;
  }

  /** The error that it began with, while it is on. */
  get error(): unknown {
    return this.#begun?.error;
  }

  /** Marks an error of the outage, which `logFailure` then says no more of. */
  noticed(error: unknown): void {
    if (this.#listener === undefined) return;
    if (typeof error === 'object' && error !== null && Object.isExtensible(error))
      Object.defineProperty(error, MARK, { value: true, configurable: true });
    if (this.#begun !== undefined) return;
    this.#begun = { error };
    this.#listener.begins(error);
    void this.#untilOver();
  }

  /** Tells nothing more. */
  close(): void {
    this.#listener = undefined;
  }

  async #untilOver(): Promise<void> {
    while (this.#listener !== undefined) {
      try {
        await this.probe();
        this.#begun = undefined;
        this.#listener?.ends();
        return;
      } catch {
        await delay(this.lookEveryMs, undefined, { ref: false });
      }
    }
  }
}

/** True for an error of an outage that was told of. */
export function isOfOutage(error: unknown, causes = 0): boolean {
  if (typeof error !== 'object' || error === null || causes > MAX_CAUSES) return false;
  return MARK in error || ('cause' in error && isOfOutage(error.cause, causes + 1));
}

/** Logs a failure of work that is tried again; of an outage only at debug, since its beginning and end are logged. */
export function logFailure(logger: Logger, error: unknown, message: string, fields: object = {}): void {
  const level = isOfOutage(error) ? 'debug' : 'error';
  logger[level]({ ...fields, error: describeError(error) }, message);
}

/** A line when it begins, with `reason` where that is known, and a line when it ends. */
export function outageLines(
  logger: Logger,
  { begins, ends }: { readonly begins: string; readonly ends: string },
  reasonOf: (error: unknown) => string | null,
): OutageListener {
  return {
    begins: (error) => {
      const reason = reasonOf(error);
      logger.error({ error: describeError(error), ...(reason === null ? {} : { reason }) }, begins);
    },
    ends: () => logger.warn(ends),
  };
}
