import { format } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Logger } from 'pino';
import { createLogger } from '../logger.js';

/** Lines of a program beside its logger: that it runs, or why it does not start or ends. */
export interface ProgramLog {
  readonly says: (message: string) => void;
  /** Says the reason, and ends the process. */
  readonly fails: (why: string) => never;
}

/**
 * Writes in the format of the environment, whatever else is wrong there: by `LOG_FORMAT=json` also lines of Node and libraries.
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

/** Takes over the console, which libraries write to. */
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

/** Growth of old objects until they are collected, in per cent of the live ones; V8 would let a small heap grow fourfold. */
const GROWING_PER_CENT = 50;

/** Time until the start's own work, such as first looks for due mail, has ended. */
const AFTERMATH_MS = 10_000;

/**
 * Gives back memory that only the start needed, with `--expose-gc`, and has the process grow in small steps from there. Called
 * before the process says that it is ready, since it takes some 100 ms; and once more a while later.
 */
export function settleMemory(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWING_PER_CENT}`);
  collectAll();
  setTimeout(collectAll, AFTERMATH_MS).unref();
}

function collectAll(): void {
  // Bytecode that ran in the start alone is given up now, and not after several collections.
  setFlagsFromString('--stress-flush-code');
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  setFlagsFromString('--no-stress-flush-code');
}

/**
 * Ends the process, after a collection. A thread of V8's that compiles and finds the heap full waits for the main thread to collect,
 * while `process.exit` has the main thread wait for the end of that thread, for ever (nodejs/node#54918).
 */
export function endProcess(exitCode: number): never {
  // Flags given at the start alone define `globalThis.gc`.
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  process.exit(exitCode);
}
