import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { takePort } from '#testing/ports';
import { listenFailure } from './listen-failure.js';

async function errorOf(port: number, host: string): Promise<unknown> {
  const [error] = (await once(createServer().listen(port, host), 'error')) as unknown[];
  return error;
}

describe('What is said of an address that cannot be listened on', () => {
  it('names the port, its variable and the host', async () => {
    const taken = await takePort();
    const error = await errorOf(taken.port, '127.0.0.1');
    await taken.release();
    expect(listenFailure(error, '127.0.0.1', { WORKER_PORT: taken.port, OPERATIONS_PORT: undefined })).toBe(
      `Port ${taken.port} (WORKER_PORT) on 127.0.0.1 is taken by another program.`,
    );
    expect(listenFailure(error, '127.0.0.1', { PORT: 80, OPERATIONS_PORT: 81 })).toBe(
      'Port 80 (PORT) or 81 (OPERATIONS_PORT) on 127.0.0.1 is taken by another program.',
    );
  });

  it('names HOST when this machine has no such address', async () => {
    const error = await errorOf(0, '192.0.2.1');
    expect(listenFailure(error, '192.0.2.1', { PORT: 3000 })).toBe(
      'HOST is 192.0.2.1, which is no address of this machine.',
    );
  });

  it('leaves other errors to others', () => {
    expect(listenFailure(new Error('something else'), '127.0.0.1', { PORT: 3000 })).toBeNull();
  });
});
