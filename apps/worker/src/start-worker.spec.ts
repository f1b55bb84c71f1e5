import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/database';
import { eventually } from '#testing/eventually';
import { takePort } from '#testing/ports';
import { SECRETS } from '#testing/system';
import { startWorker } from './start-worker.js';

describe('A worker', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase();
  });

  afterAll(() => test.drop());

  it('whose port is taken begins no work, which it would break off when its process ends', async () => {
    const taken = await takePort();
    const settings = { NODE_ENV: 'test', LOG_LEVEL: 'silent', DATABASE_URL: test.url, ...SECRETS };
    await expect(startWorker(loadConfig({ ...settings, WORKER_PORT: String(taken.port) }))).rejects.toThrow(
      /is taken by another program/,
    );
    await taken.release();
    await eventually('nothing of it is connected', async () => {
      const others = await test.query(
        'select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      return others.length === 0;
    });
  });
});
