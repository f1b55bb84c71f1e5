import { spawn } from 'node:child_process';
import { LaunchError } from './launch.error.js';

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
