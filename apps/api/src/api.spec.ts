import { createServer, type ListenOptions, Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { faultsOfRoutes } from '#testing/http/route-walk';
import { type Config, loadConfig } from '#platform';
import { PROBLEM_TYPES } from '#platform/http';
import { ApiLifecycle } from './api.module.js';
import { ApiDocument } from './openapi/api-document.js';
import { type RunningApi, startApi, startFailure } from './start-api.js';

/** Routes that need no key. Whatever else is open is a mistake. */
const PUBLIC_ROUTES = new Set([
  'GET /openapi.json',
  'GET /operator',
  'GET /operator/operator.js',
  'GET /operator/v1/openapi.json',
  'GET /',
  'GET /docs',
  'GET /docs/reference',
  'GET /docs/reference/:area',
  'GET /docs/search',
  'GET /docs/:page',
  'GET /docs/:folder/:page',
  'GET /favicon.ico',
  'GET /llms.txt',
  'GET /.well-known/security.txt',
  'GET /problems/:slug',
  'GET /health/live',
  'GET /health/ready',
  'GET /metrics',
  'GET /internal/tls-check',
  'GET /c/:token',
  'POST /c/:token',
  'GET /u/:token',
  'POST /u/:token',
  'GET /p/:token',
  'POST /p/:token',
  'GET /v/:token',
  'GET /d/:token',
  'GET /media/:file',
  'GET /o/:token',
  'GET /l/:token',
  'GET /i/:token',
  'GET /r/:token',
  'GET /e/:token',
  'POST /feedback/:kind/:token',
  'POST /stripe/webhooks',
]);

describe('The api', () => {
  let test: TestDatabase;
  let api: RunningApi;

  const configWith = (env: Record<string, string> = {}): Config =>
    loadConfig({
      NODE_ENV: 'test',
      DATABASE_URL: test.url,
      PORT: '0',
      LOG_LEVEL: 'silent',
      LOG_FORMAT: 'json',
      ...env,
    });

  beforeAll(async () => {
    test = await createTestDatabase();
    api = await startApi(configWith());
  });

  afterAll(async () => {
    await api.app.close();
    await test.drop();
  });

  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${api.url}${path}`, { headers });

  it('documents each of its operations, and leaves nothing open by mistake', async () => {
    const documents = api.app.get(ApiDocument);
    const [own, operators] = [await documents.get(), await documents.ofOperator()];
    const responses = { ...own.components.responses, ...operators.components.responses };
    const both = { paths: { ...own.paths, ...operators.paths }, components: { responses } };
    expect(faultsOfRoutes(api.app, both, PUBLIC_ROUTES)).toEqual([]);
  });

  it('refuses every operation without a key', async () => {
    for (const [path, methods] of Object.entries((await api.app.get(ApiDocument).get()).paths)) {
      for (const method of Object.keys(methods)) {
        const answer = await fetch(`${api.url}${path.replaceAll(/\{\w+\}/g, 'x')}`, {
          method: method.toUpperCase(),
        });
        // Past 60 failures a minute the address, too, is refused.
        expect([method, path, answer.status === 429 ? 401 : answer.status]).toEqual([method, path, 401]);
      }
    }
  });

  it('says whom to tell of weaknesses, where the operator has said it', async () => {
    expect((await get('/.well-known/security.txt')).status).toBe(404);
    const contacts = 'mailto:security@example.com, https://example.com/report';
    const told = await startApi(configWith({ SECURITY_CONTACT: contacts }));
    try {
      const answer = await fetch(`${told.url}/.well-known/security.txt`);
      expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
      const lines = (await answer.text()).split('\n');
      const expires = Date.parse(lines[2]?.replace('Expires: ', '') ?? '');
      expect((expires - Date.now()) / 86_400_000).toBeGreaterThan(178);
      expect((expires - Date.now()) / 86_400_000).toBeLessThan(365);
      expect(lines.toSpliced(2, 1)).toEqual([
        'Contact: mailto:security@example.com',
        'Contact: https://example.com/report',
        'Preferred-Languages: en',
        `Canonical: http://localhost:${told.port}/.well-known/security.txt`,
        '',
      ]);
    } finally {
      await told.app.close();
    }
    expect(() => configWith({ SECURITY_CONTACT: 'security@example.com' })).toThrow(
      /SECURITY_CONTACT must be/,
    );
  });

  it('gives its OpenAPI 3.1 document, with the address where it really listens', async () => {
    const document = (await (await get('/openapi.json')).json()) as { openapi: string; servers: unknown };
    expect(document.openapi).toBe('3.1.0');
    expect(document.servers).toEqual([{ url: `http://localhost:${api.port}` }]);
  });

  it('resolves every reference of its document', async () => {
    const document = await api.app.get(ApiDocument).get();
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
      ([, path = '']) => path,
    );
    expect(references.length).toBeGreaterThan(50);
    for (const path of new Set(references)) {
      const target = path
        .split('/')
        .reduce<unknown>((node, name) => (node as Record<string, unknown> | undefined)?.[name], document);
      expect([path, typeof target]).toEqual([path, 'object']);
    }
  });

  it('shows a reference that asks nobody but this api, with assets that caches keep', async () => {
    const answer = await get('/docs/reference/subscribers', { accept: 'text/html' });
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).not.toMatch(/https?:|\*/);
    const page = await answer.text();
    const assets = [...page.matchAll(/(?:script src|stylesheet" href)="([^"]+)"/g)].map(
      ([, path = '']) => path,
    );
    expect(assets).toHaveLength(2);
    for (const path of assets) {
      const { status, headers } = await get(path);
      expect([path, status, headers.get('cache-control')]).toEqual([
        path,
        200,
        'public, max-age=31536000, immutable',
      ]);
      const unversioned = await get(path.replace(/\?.*/, ''));
      expect(unversioned.headers.get('cache-control')).toBeNull();
    }
    expect((await get('/docs/reference/another')).status).toBe(404);
  });

  it('shows people a page where there is none, and programs the problem', async () => {
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    for (const path of ['/nope', '/docs/nope', '/docs/a/b/c']) {
      const page = await get(path, { accept });
      expect([path, page.status, page.headers.get('content-type')]).toEqual([
        path,
        404,
        'text/html; charset=utf-8',
      ]);
      expect(await page.text()).toContain('<h1>There is no such page</h1>');
      const problem = await get(path);
      expect([path, problem.status, problem.headers.get('content-type')]).toEqual([
        path,
        404,
        'application/problem+json',
      ]);
    }
    const ofApi = await get('/api/v1/nope', { accept });
    expect(ofApi.headers.get('content-type')).toBe('application/problem+json');
  });

  it('has a page for each type of problem, and a problem for others', async () => {
    for (const slug of Object.keys(PROBLEM_TYPES)) {
      const answer = await get(`/problems/${slug}`);
      expect([slug, answer.status, answer.headers.get('content-type')]).toEqual([
        slug,
        200,
        'text/html; charset=utf-8',
      ]);
    }
    const unknown = await get('/problems/nope');
    expect([unknown.status, unknown.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
  });

  it('tells its health and its metrics', async () => {
    expect(await (await get('/health/live')).json()).toEqual({ status: 'ok' });
    // A busy machine is not ready for as long as PostgreSQL takes over two seconds to answer.
    const ready = await eventually('it is ready', async () => {
      const answer = await get('/health/ready');
      return answer.status === 200 ? answer.json() : null;
    });
    expect(ready).toEqual({
      status: 'ok',
      checks: { database: 'ok', migrations: 'ok', rateLimit: 'ok', accepting: 'ok' },
    });
    const metrics = await (await get('/metrics')).text();
    for (const name of [
      'mailwright_http_requests_total{method="GET",route="/problems/:slug",status="404"} 1',
      'mailwright_http_request_duration_seconds_bucket',
      'mailwright_database_connections{state="idle"}',
      'nodejs_eventloop_lag_seconds',
    ]) {
      expect(metrics).toContain(name);
    }
  });

  it('moves health and metrics to OPERATIONS_PORT when there is one', async () => {
    const other = await startApi(configWith({ OPERATIONS_PORT: '0' }));
    const operationsPort = other.app.get(ApiLifecycle).ports.operations;
    try {
      expect((await fetch(`${other.url}/metrics`)).status).toBe(404);
      expect((await fetch(`http://127.0.0.1:${operationsPort}/health/live`)).status).toBe(200);
      expect(await (await fetch(`http://127.0.0.1:${operationsPort}/metrics`)).text()).toContain(
        'mailwright_http_requests_total',
      );
      expect((await fetch(`http://127.0.0.1:${operationsPort}/docs`)).status).toBe(404);
      const statusOf = async (url: string) => (await fetch(url)).status;
      for (const path of ['/operator', '/operator/operator.js']) {
        expect(await statusOf(`http://127.0.0.1:${operationsPort}${path}`)).toBe(200);
        expect(await statusOf(`${other.url}${path}`)).toBe(404);
        expect(await statusOf(`${api.url}${path}`)).toBe(200);
      }
      for (const url of [`http://127.0.0.1:${operationsPort}`, other.url])
        // Past 60 failures a minute the address is refused.
        expect([401, 429]).toContain(await statusOf(`${url}/operator/v1/overview`));
    } finally {
      await other.app.close();
    }
  });

  it('has no metrics on its public port in production, and those of METRICS_PORT on that alone', async () => {
    const METRICS_PORT = '0';
    const production = {
      NODE_ENV: 'production',
      TOKEN_SECRET: 'a secret of the tests, long enough for it',
      MASTER_KEY: 'another secret of the tests, long enough',
      PUBLIC_URL: 'https://mail.example',
      BOUNCE_HOST: 'bounces.mail.example',
      SPF_INCLUDE: 'spf.mail.example',
      LOG_LEVEL: 'silent',
    };
    for (const variables of [production, { ...production, METRICS_PORT }, { METRICS_PORT }]) {
      const other = await startApi(configWith(variables));
      try {
        expect((await fetch(`${other.url}/metrics`)).status).toBe(404);
        expect((await fetch(`${other.url}/health/live`)).status).toBe(200);
        expect((await fetch(`${other.url}/operator`)).status).toBe('NODE_ENV' in variables ? 404 : 200);
        if (!('METRICS_PORT' in variables)) continue;
        const statusOf = async (path: string) =>
          (await fetch(`http://127.0.0.1:${other.app.get(ApiLifecycle).ports.metrics}${path}`)).status;
        expect([await statusOf('/metrics'), await statusOf('/health/live')]).toEqual([200, 404]);
      } finally {
        await other.app.close();
      }
    }
  });

  it('does not start on a database that lacks migrations', async () => {
    const behind = await createTestDatabase();
    await behind.query(
      `delete from public.schema_migrations where name = (select max(name) from public.schema_migrations)`,
    );
    const failure: unknown = await startApi(configWith({ DATABASE_URL: behind.url })).catch(
      (error: unknown) => error,
    );
    expect(startFailure(failure)).toMatch(/^The database lacks migrations: \d{14}_\w+\. Run /);
    await behind.drop();
  });

  it('chooses another port when the one that it chose is given to somebody else', async () => {
    const listen = Reflect.get(Server.prototype, 'listen') as (this: Server, ...asked: unknown[]) => Server;
    const other = createServer();
    let given = 0;
    const spy = jest.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server, ...asked) {
      const { port = 0 } = asked[0] as ListenOptions;
      if (port === 0 || given > 0) return listen.apply(this, asked);
      given = port;
      other.once('listening', () => listen.apply(this, asked));
      return listen.call(other, { port, host: '127.0.0.1' });
    });
    const running = await startApi(configWith());
    try {
      expect([given > 0, running.port === given]).toEqual([true, false]);
      expect((await fetch(`${running.url}/health/live`)).status).toBe(200);
    } finally {
      spy.mockRestore();
      other.close();
      await running.app.close();
    }
  });

  it('says so when its port is taken', async () => {
    const failure: unknown = await startApi(configWith({ PORT: String(api.port) })).catch(
      (error: unknown) => error,
    );
    expect(startFailure(failure)).toBe(`Port ${api.port} (PORT) on 127.0.0.1 is taken by another program.`);
  });

  it('says that it is not ready, and why, when its database is gone', async () => {
    const doomed = await createTestDatabase();
    const lame = await startApi(configWith({ DATABASE_URL: doomed.url }));
    await doomed.drop();
    const answer = await fetch(`${lame.url}/health/ready`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ status: 'unavailable', checks: { database: 'failed' } });
    expect((await fetch(`${lame.url}/health/live`)).status).toBe(200);
    const refused = await fetch(`${lame.url}/api/v1/project`, { headers: { 'x-api-key': 'mw_test_x' } });
    expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([503, 1]);
    await lame.app.close();
  });
});
