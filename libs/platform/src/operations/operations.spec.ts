import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { HealthChecks } from './health-checks.js';
import { Operations } from './operations.js';
import { OperationsServer } from './operations-server.js';

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
