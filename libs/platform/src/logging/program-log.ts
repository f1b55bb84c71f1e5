import { format } from 'node:util';
import type { Logger } from 'pino';
import { createLogger } from './logger.js';

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
