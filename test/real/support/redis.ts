import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '#testing/eventually';
import { freePort, isListening } from '#testing/ports';
import { executableOf } from '../parts.js';

/** A redis-server of a test's own that asks for a password, and can be killed and started again at its port. */
export interface RealRedis {
  readonly url: string;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Empty, as after a kill. */
  start(): Promise<void>;
}

export async function startRealRedis(password: string): Promise<RealRedis> {
  const port = await freePort();
  let child = await listening(port, password);
  return {
    url: `redis://:${password}@127.0.0.1:${port}`,
    kill: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    start: async () => {
      child = await listening(port, password);
    },
  };
}

async function listening(port: number, password: string) {
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--requirepass', password];
  const child = spawn(executableOf('redis'), options, { stdio: 'ignore' });
  await eventually('redis-server listens', () => isListening(port));
  return child;
}
