import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '#testing/time/eventually';
import { isListening } from '#testing/programs/ports';

/** A server that nobody here wrote, in the foreground of a process of its own. */
export interface ServerProcess {
  /** Resolves when it is gone, what it started and its directory. */
  stop(): Promise<void>;
}

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** On 127.0.0.1; it is ready when it listens there. */
  readonly port: number;
  /** Directory by `serverDirectory`; the server's output is kept there, and its logs may be, as `…log`. */
  readonly directory: string;
  /** Tells it to end where SIGTERM to its group would leave something behind. */
  readonly end?: () => void;
}

/** A new one for what a server keeps. It may give its rights up for another user, who writes there as well. */
export function serverDirectory(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), `mailwright-${name}-`));
  chmodSync(directory, 0o777);
  return directory;
}

/** Starts a server and waits until it listens. */
export async function startServerProcess(server: ServerCommand): Promise<ServerProcess> {
  const { command, args, port, directory } = server;
  // Not a pipe, which would stay open for as long as any of its children.
  const sink = openSync(join(directory, 'output'), 'w');
  const child = spawn(command, args, { stdio: ['ignore', sink, sink], detached: true });
  closeSync(sink);
  let failure: Error | undefined;
  child.once('error', (error) => (failure = error));
  const stop = async () => {
    await ended(child, server.end);
    rmSync(directory, { recursive: true });
  };
  try {
    await eventually(`${command} listens`, async () => {
      if (failure !== undefined) throw failure;
      if (hasEnded(child)) throw new Error(`It ended with ${child.exitCode}.`);
      return isListening(port);
    });
  } catch (error) {
    const said = textsIn(directory);
    await stop();
    throw new Error(`${command} did not start: ${String(error)}\n${said}`, { cause: error });
  }
  return { stop };
}

const textsIn = (directory: string): string =>
  readdirSync(directory)
    .filter((name) => name === 'output' || name.endsWith('log'))
    .map((name) => readFileSync(join(directory, name), 'utf8'))
    .join('');

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

/** It leads a group of its own, so that its children end with it. */
async function ended(child: ChildProcess, end?: () => void): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  const exit = hasEnded(child) ? null : once(child, 'exit');
  if (exit !== null && end !== undefined) end();
  else signal(-pid, 'SIGTERM');
  await exit;
  signal(-pid, 'SIGKILL');
}

function signal(group: number, name: NodeJS.Signals): void {
  try {
    process.kill(group, name);
  } catch {
    // All of it is gone.
  }
}
