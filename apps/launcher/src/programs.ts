import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { type PostgresOptions, type PostgresServer, startPostgres } from '#platform/embedded-postgres';
import { type Run, runOf } from '#platform/supervisor';
import { LaunchError } from './failure.js';
import { PROGRAM_VARIABLES } from './program-flags.js';

/** Runs a command of the operator's CLI. */
export type RunCli = (...args: string[]) => Promise<string>;

/**
 * Runs a command of the CLI and resolves to its stdout. Throws `LaunchError` with its stderr when it fails. Aborting
 * `signal` ends it.
 */
export function cliRunner(file: string, env: NodeJS.ProcessEnv, signal: AbortSignal): RunCli {
  return (...args) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [file, ...args], {
        env,
        signal,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const output: Buffer[] = [];
      const errors: Buffer[] = [];
      child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
      child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
      child.once('error', reject);
      child.once('close', (code, killedBy) => {
        if (code === 0) return resolve(Buffer.concat(output).toString());
        const said = Buffer.concat([...errors, ...output])
          .toString()
          .trim();
        reject(new LaunchError(`"${args.join(' ')}" failed (${killedBy ?? `exit code ${code}`}):\n${said}`));
      });
    });
}

/**
 * Starts one of our programs with an IPC channel: it sends `{ type: 'listening' }` when ready, and sees the channel close
 * when we exit. It gets its own session, so that Ctrl-C reaches it only through us, once and in order.
 */
export function runNodeProgram(
  name: string,
  file: string,
  { env, flags = [] }: { readonly env: NodeJS.ProcessEnv; readonly flags?: readonly string[] },
): Run {
  const child = spawn(process.execPath, [...flags, file], {
    env: { ...PROGRAM_VARIABLES, ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true,
  });
  return runOf(
    child,
    (how) => new LaunchError(`${name} ended before it was ready (${how}). See its output above.`),
  );
}

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
