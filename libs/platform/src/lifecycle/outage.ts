import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError } from '../logger.js';
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

const MAX_DEPTH = 5;

/** Whether `error` says that the database or Redis did not answer, so that the same request may work later. */
export function isUnavailability(error: unknown, causes = 0): boolean {
  if (typeof error !== 'object' || error === null || causes > MAX_DEPTH) return false;
  const { code, message, cause, errors } = error as Readonly<Record<string, unknown>>;
  // Whatever it is: what is asked of Redis is always right.
  if (isReply(error)) return true;
  if (typeof code === 'string' && (NETWORK_CODES.has(code) || SQL_STATES.test(code))) return true;
  if (typeof message === 'string' && MESSAGES.test(message)) return true;
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

/** A property with a name, since the ORM copies those of a driver's error to one of its own. */
const MARK = 'isOfOutage';

/**
 * Something that the process cannot do without, such as the database: tells once that it is away and once that it is back,
 * however many notice it and however often each of them tries again. While it is away, `probe` looks for its return.
 */
export class Outage {
  #begun: { readonly error: unknown } | undefined;
  #listener: OutageListener | undefined;

  constructor(
    private readonly probe: () => Promise<unknown>,
    private readonly lookEveryMs = LOOK_EVERY_MS,
  ) {}

  /** From now on. Before that nothing counts as an outage: a program that cannot start says so itself. */
  tell(listener: OutageListener): void {
    this.#listener = listener;
  }

  get isOn(): boolean {
    return this.#begun !== undefined;
  }

  /** The one that it began with, while it is on. */
  get error(): unknown {
    return this.#begun?.error;
  }

  /** Work failed with `error` because of the outage. `logFailure` says no more of that. */
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

const MAX_CAUSES = 5;

/** An outage has been told of, and `error` is of it. */
export function isOfOutage(error: unknown, causes = 0): boolean {
  if (typeof error !== 'object' || error === null || causes > MAX_CAUSES) return false;
  return MARK in error || ('cause' in error && isOfOutage(error.cause, causes + 1));
}

/** Logs why work failed that is tried again; of an outage its beginning and its end are said, and that is enough. */
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
