import { createWriteStream } from 'node:fs';
import { type PostgresOptions, type PostgresServer, startPostgres } from '#platform/embedded-postgres';
import type { Run } from '#platform/supervisor';

/** A run of the embedded server, with its connection string when it is ready. */
export interface PostgresRun extends Run {
  readonly ready: Promise<PostgresServer>;
}

/** Starts the embedded server. It writes its log to `logFile`, overwritten at each start. */
export function runPostgres({
  logFile,
  ...options
}: Pick<PostgresOptions, 'directory' | 'port' | 'preferredPorts'> & {
  readonly logFile: string;
}): PostgresRun {
  const log = createWriteStream(logFile, { mode: 0o600 });
  log.on('error', () => undefined);
  const starting = new AbortController();
  const ready = startPostgres({
    ...options,
    signal: starting.signal,
    onLog: (line) => void log.write(`${line}\n`),
  });
  const ended = ready.then(
    (server) => server.exited,
    (error: unknown) => String(error),
  );
  void ended.then(() => log.end());
  const stop = (patienceMs: number) => {
    starting.abort();
    return ready.then(
      (server) => server.stop(patienceMs),
      () => undefined,
    );
  };
  return {
    ready,
    ended,
    stop,
    kill: () => void stop(0),
  };
}
