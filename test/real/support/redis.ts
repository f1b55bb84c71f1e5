import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '#testing/time/eventually';
import { freePort, isListening } from '#testing/programs/ports';
import { executableOf } from '../parts.js';

/** A redis-server of a test's own that asks for a password, and can be killed and started again at its port. */
export interface RealRedis {
  readonly url: string;
  /** It saves to this directory when it is asked to. */
  readonly directory: string;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Empty, as after a kill. */
  start(): Promise<void>;
}

export async function startRealRedis(password: string): Promise<RealRedis> {
  const port = await freePort();
  const directory = await mkdtemp(join(tmpdir(), 'mailwright-redis-'));
  let child = await listening(port, password, directory);
  return {
    url: `redis://:${password}@127.0.0.1:${port}`,
    directory,
    kill: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
      await rm(directory, { recursive: true, force: true });
    },
    start: async () => {
      await mkdir(directory, { recursive: true });
      child = await listening(port, password, directory);
    },
  };
}

async function listening(port: number, password: string, directory: string) {
  const options = Object.entries({
    port: String(port),
    bind: '127.0.0.1',
    save: '',
    dir: directory,
    requirepass: password,
    'busy-reply-threshold': '100',
  }).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(executableOf('redis'), options, { stdio: 'ignore' });
  await eventually('redis-server listens', () => isListening(port));
  return child;
}
