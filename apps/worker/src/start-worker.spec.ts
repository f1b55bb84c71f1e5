import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '#platform';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.js';
import { eventually } from '../../../test/support/eventually.js';
import { takePort } from '../../../test/support/ports.js';
import { startWorker } from './start-worker.js';

describe('A worker whose port is taken', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase();
  });

  afterAll(() => test.drop());

  it('hands back what it has begun: a mail that is on its way would be sent twice', async () => {
    const taken = await takePort();
    const config = loadConfig({
      DATABASE_URL: test.url,
      WORKER_PORT: String(taken.port),
      LOG_LEVEL: 'silent',
    });
    await expect(startWorker(config)).rejects.toThrow(/\(WORKER_PORT\) on 127\.0\.0\.1 is taken/);
    await taken.release();
    await eventually('every connection of the worker is closed', async () => {
      const open = await test.query<{ name: string }>(
        `select application_name as name from pg_stat_activity
         where datname = current_database() and application_name like 'mailwright-%'`,
      );
      return open.length === 0;
    });
  });
});
