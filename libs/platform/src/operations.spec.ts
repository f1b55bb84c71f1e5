import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { takePort } from '#testing/programs/ports';
import { HealthChecks, listenFailure, Operations, OperationsServer } from './operations.js';

describe('The operations port', () => {
  let server: OperationsServer | undefined;

  afterEach(() => server?.close());

  it('names what is missing, and does not wait for what hangs', async () => {
    const health = new HealthChecks([
      { name: 'database', check: async () => undefined },
      { name: 'redis', check: () => Promise.reject(new Error('secret host')) },
      { name: 'queue', check: () => new Promise(() => undefined) },
    ]);
    server = new OperationsServer(new Operations(health, new Registry()));
    const url = `http://127.0.0.1:${await server.listen(0, '127.0.0.1')}`;
    // One of them never answers: that this does is proof enough.
    const answer = await fetch(`${url}/health/ready`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toEqual({
      status: 'unavailable',
      checks: { database: 'ok', redis: 'failed', queue: 'timed out' },
    });
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    expect((await fetch(`${url}/metrics?x=1`)).headers.get('content-type')).toMatch(/^text\/plain/);
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405);
  });

  it('is ready without what is optional, and says that it is missing', async () => {
    const optional = { name: 'replica', check: () => Promise.reject(new Error('away')), isOptional: true };
    const health = new HealthChecks([{ name: 'database', check: async () => undefined }, optional]);
    server = new OperationsServer(new Operations(health, new Registry()));
    const answer = await fetch(`http://127.0.0.1:${await server.listen(0, '127.0.0.1')}/health/ready`);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      status: 'degraded',
      checks: { database: 'ok', replica: 'failed' },
    });
  });
});

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
    const ports = { PORT: 80, OPERATIONS_PORT: 81, METRICS_PORT: 80 };
    expect(listenFailure(error, '127.0.0.1', ports)).toBe(
      'PORT and METRICS_PORT are the same port, 80: each needs its own.',
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
