import { type ChildProcess, spawn } from 'node:child_process';
import { LaunchError } from './launch.error.js';
import { PROGRAM_VARIABLES } from './program-flags.js';
import type { Run } from './supervisor.js';

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
  const ended = endOf(child);
  const ready = Promise.race([
    listening(child),
    ended.then((how) => {
      throw new LaunchError(`${name} ended before it was ready (${how}). See its output above.`);
    }),
  ]);
  ready.catch(() => undefined);
  return {
    ready,
    ended,
    stop: async (patienceMs) => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs);
      await ended;
      clearTimeout(timer);
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

function listening(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.on('message', (message) => {
      if (
        typeof message === 'object' &&
        message !== null &&
        'type' in message &&
        message.type === 'listening'
      )
        resolve();
    });
  });
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
}
