import { format } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import { createLogger } from '../logger.js';

/** What a program says beside its logger: that it runs, and why it does not start or ends. */
export interface ProgramLog {
  readonly says: (message: string) => void;
  /** Says why, and ends the process. */
  readonly fails: (why: string) => never;
}

/**
 * In the format that the environment asks for, which may be wrong in all else. With `LOG_FORMAT=json` every line of the
 * process is JSON, those of Node and of libraries included.
 */
export function openProgramLog(
  program: string,
  env: Readonly<Record<string, string | undefined>>,
): ProgramLog {
  const wanted = env['LOG_FORMAT'] || (env['NODE_ENV'] === 'production' ? 'json' : 'pretty');
  if (wanted !== 'json') return plainLog;
  const logger = createLogger({ LOG_LEVEL: 'info', LOG_FORMAT: 'json' }, program);
  const fails = (why: unknown): never => {
    logger.fatal(why instanceof Error ? { err: why } : {}, why instanceof Error ? why.message : String(why));
    process.exit(1);
  };
  process.on('uncaughtException', fails).on('unhandledRejection', fails);
  // Node's own listener writes to standard error.
  process
    .removeAllListeners('warning')
    .on('warning', (warning) => logger.warn({ err: warning }, warning.message));
  takeOverConsole(logger);
  return { says: (message) => logger.info(message), fails };
}

const plainLog: ProgramLog = {
  says: (message) => void process.stdout.write(`${message}\n`),
  fails: (why) => {
    process.stderr.write(`${why}\n`);
    process.exit(1);
  },
};

/** Libraries write to it. */
function takeOverConsole(logger: Logger): void {
  const writer =
    (level: 'info' | 'warn' | 'error') =>
    (...values: unknown[]): void =>
      logger[level](format(...values));
  Object.assign(console, {
    log: writer('info'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
  });
}

/**
 * Calls `onParentGone` once when the program that started this one over an IPC channel is gone, however it
 * ended, so that a killed launcher leaves no orphans. Does nothing without such a channel.
 */
export function watchParent(onParentGone: () => void): void {
  if (process.send === undefined) return;
  if (process.connected) process.once('disconnect', onParentGone);
  else onParentGone();
}

/** Per cent of what lives by which old objects may grow until they are collected; V8 would let a small heap grow fourfold. */
const GROWING_PER_CENT = 50;

/**
 * Gives back what only the start needed, a tenth of the process, and has it grow in small steps from there: a worker in a
 * campaign takes 240 MB instead of 290, for a few per cent of its CPU. Called before the process says that it is ready,
 * since it takes some 100 ms. It gives nothing back unless Node runs with `--expose-gc`.
 */
export function settleMemory(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWING_PER_CENT}`);
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
