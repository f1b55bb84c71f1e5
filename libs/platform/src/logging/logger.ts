import { types } from 'node:util';
import { type Logger, pino, type LoggerOptions } from 'pino';
import pretty from 'pino-pretty';
import type { Config } from '../config/config.js';
import { redact } from './redact.js';
import { logContext } from './request-context.js';

const MAX_DEPTH = 4;

/**
 * The logger of a process: lines of JSON, or readable ones for a person (`LOG_FORMAT`). Addresses and API
 * keys are blotted out of every message and value, and each line carries the context of its request.
 */
export function createLogger(
  config: Pick<Config, 'LOG_LEVEL' | 'LOG_FORMAT'>,
  processName: string,
  destination: NodeJS.WritableStream = process.stdout,
): Logger {
  const options: LoggerOptions = {
    level: config.LOG_LEVEL,
    base: { process: processName },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: {
      level: (label) => ({ level: label }),
      log: (fields) => redactFields(fields, 0) as Record<string, unknown>,
    },
    // formatters.log has made a plain object of it.
    serializers: { err: (error: unknown) => error },
    hooks: {
      logMethod(parameters, method) {
        method.apply(this, redactParameters(parameters) as typeof parameters);
      },
    },
    mixin: () => ({ ...logContext.getStore() }),
  };
  return pino(options, config.LOG_FORMAT === 'json' ? destination : prettyStream(destination));
}

/** pino takes an error's own words as the message when there is none, so they are set here, redacted. */
function redactParameters([first, ...others]: readonly unknown[]): unknown[] {
  const redacted = others.map((parameter) => (typeof parameter === 'string' ? redact(parameter) : parameter));
  if (typeof first === 'string') return [redact(first), ...redacted];
  const fields = isError(first) ? { err: first } : first;
  const hasMessage =
    redacted.length > 0 || typeof fields !== 'object' || fields === null || !('err' in fields);
  return hasMessage || !isError(fields.err) ? [fields, ...redacted] : [fields, redact(fields.err.message)];
}

/** Errors of every realm. */
function isError(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error;
}

function prettyStream(destination: NodeJS.WritableStream): NodeJS.WritableStream {
  const isTerminal = 'isTTY' in destination && destination.isTTY === true;
  return pretty({
    destination,
    colorize: isTerminal,
    singleLine: true,
    ignore: 'pid,hostname,process',
    translateTime: 'HH:MM:ss.l',
  });
}

function redactFields(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redact(value);
  if (isError(value)) return describe(value);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (depth >= MAX_DEPTH) return '[deep]';
  if (Array.isArray(value)) return value.map((item) => redactFields(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, redactFields(item, depth + 1)]),
  );
}

/** Of an error only what is no data: a driver's error carries the row that it failed on. */
function describe(error: Error): Record<string, unknown> {
  return {
    type: error.name,
    message: redact(error.message),
    ...('code' in error ? { code: String(error.code) } : {}),
    stack: redact(error.stack ?? ''),
    ...(isError(error.cause) ? { cause: describe(error.cause) } : {}),
  };
}
