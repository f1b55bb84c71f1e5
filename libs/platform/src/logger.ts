import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { types } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import { type Logger, type LoggerOptions, pino } from 'pino';
import type pretty from 'pino-pretty';
import type { Config } from './config.js';

const ADDRESS = /[^\s<>"',;:()]+@[^\s<>"',;:()]+/g;
const API_KEY = /mw_(live|test)_\w+/g;

/** A text without e-mail addresses and API keys, fit for a log line or an error column. */
export function redact(text: string): string {
  return text.replace(ADDRESS, '[address]').replace(API_KEY, 'mw_$1_[key]');
}

/** An error in one line without personal data. */
export function describeError(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return redact(text).slice(0, 500);
}

/** Fields of every log line of a piece of work, such as `requestId`. */
export type LogContext = Readonly<Record<string, string | number>>;

/** The context of the work that runs at the moment. */
export const logContext = new AsyncLocalStorage<LogContext>();

const MAX_DEPTH = 4;

/** The logger of a process (`LOG_FORMAT`): no addresses and API keys in any message and value, and on each line its context. */
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
  // Loaded where it is wanted: production logs JSON.
  const load = createRequire(import.meta.url)('pino-pretty') as typeof pretty;
  const isTerminal = 'isTTY' in destination && destination.isTTY === true;
  return load({
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

/** The parts of an error that are no data: a driver's error carries the row that it failed on. */
function describe(error: Error): Record<string, unknown> {
  return {
    type: error.name,
    message: redact(error.message),
    ...('code' in error ? { code: String(error.code) } : {}),
    stack: redact(error.stack ?? ''),
    ...(isError(error.cause) ? { cause: describe(error.cause) } : {}),
  };
}

/** Nest's own lines through pino, those about its start at debug. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...context: unknown[]): void {
    this.logger.debug({ context: context.at(-1) }, String(message));
  }

  warn(message: unknown, ...context: unknown[]): void {
    this.logger.warn({ context: context.at(-1) }, String(message));
  }

  error(message: unknown, ...context: unknown[]): void {
    const err = message instanceof Error ? message : context.find((item) => item instanceof Error);
    this.logger.error(
      { err, context: context.at(-1) },
      message instanceof Error ? message.message : String(message),
    );
  }

  fatal(message: unknown, ...context: unknown[]): void {
    this.error(message, ...context);
  }

  debug(): void {}

  verbose(): void {}
}
