import { spawn } from 'node:child_process';
import { type Run, runOf } from '#platform/supervisor';
import { LaunchError } from './launch.error.js';
import { PROGRAM_VARIABLES } from './program-flags.js';

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
