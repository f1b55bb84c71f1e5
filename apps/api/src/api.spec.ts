import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.js';
import { loadConfig } from '#platform';
import { type RunningApi, startApi } from './start-api.js';

describe('The api', () => {
  let test: TestDatabase;
  let api: RunningApi;

  beforeAll(async () => {
    test = await createTestDatabase();
    api = await startApi(loadConfig({ NODE_ENV: 'test', DATABASE_URL: test.url, PORT: '0', LOG_LEVEL: 'warn', LOG_FORMAT: 'json' }));
  });

  afterAll(async () => {
    await api?.app.close();
    await test.drop();
  });

  it('describes itself', async () => {
    const doc = await (await fetch(`${api.url}/openapi.json`)).text();
    (await import('node:fs')).writeFileSync('/tmp/httpkit-try/openapi.json', doc);
    const page = await fetch(`${api.url}/docs`);
    (await import('node:fs')).writeFileSync('/tmp/httpkit-try/docs.html', await page.text());
    console.log([...page.headers.entries()]);
    for (const p of ['/health/live','/health/ready','/metrics','/problems/rate-limited','/problems/x','/api/v1/project']) {
      const r = await fetch(`${api.url}${p}`); console.log(p, r.status, [...r.headers.keys()].join(), (await r.text()).slice(0, 400));
    }
    expect(doc.length).toBeGreaterThan(100);
  });
});
