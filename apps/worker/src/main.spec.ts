import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { takePort } from '#testing/programs/ports';
import { startProgram } from '#testing/programs/program';
import { SECRETS } from '#testing/programs/system';
import { startWorker } from './start-worker.js';

describe('The worker’s process', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase();
  });

  afterAll(() => test.drop());

  /** All that it says before it ends; nothing but a line for the operator. */
  const refusal = (environment: Record<string, string>) =>
    startProgram('worker', { DATABASE_URL: test.url, LOG_FORMAT: 'pretty', ...environment }).then(
      async (worker) => `it started, and ended with ${await worker.stop()}`,
      (error: Error) => error.message,
    );

  it('names the variable of a database that does not answer, and says nothing else', async () => {
    expect(await refusal({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })).toMatch(
      /ended with 1:\nThe worker could not start: PostgreSQL does not answer at the host and port of DATABASE_URL\. .*\n$/,
    );
  });

  it('names the variable of a port that is taken', async () => {
    const taken = await takePort();
    const said = await refusal({ WORKER_PORT: String(taken.port) });
    await taken.release();
    expect(said).toMatch(
      /ended with 1:\nPort \d+ \(WORKER_PORT\) on 127\.0\.0\.1 is taken by another program\.\n$/,
    );
  });

  it('names the variables of a certificate that cannot be read, and says nothing else', async () => {
    const files = { BOUNCE_TLS_CERT_FILE: '/nowhere.pem', BOUNCE_TLS_KEY_FILE: '/nowhere.key' };
    expect(await refusal({ BOUNCE_PORT: '0', ...files })).toMatch(
      /ended with 1:\nThe certificate of the bounce server cannot be read \(BOUNCE_TLS_CERT_FILE, BOUNCE_TLS_KEY_FILE\): .*\n$/,
    );
  });

  it('ends when one of its processes cannot start, which says why', async () => {
    const said = await refusal({
      WORKER_PROCESSES: '2',
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    });
    expect(said).toMatch(/The worker could not start: PostgreSQL does not answer .*\n/);
    expect(said).toMatch(/worker-\d ended before it was ready \(exit code 1\)\. See its output above\.\n$/);
  });

  it('names the languages that reports can be in', async () => {
    expect(await refusal({ AI_REPORT_LOCALE: 'xx' })).toMatch(
      /ended with 1:\nThe configuration is not valid:\n {2}- AI_REPORT_LOCALE must be one of en, .*, there is no xx\n$/,
    );
  });

  it('begins no work while its port is taken, which it would break off when its process ends', async () => {
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
