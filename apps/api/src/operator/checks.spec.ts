import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { CountersService } from '#audience';
import { Database } from '#platform';
import { ManualClock } from '#testing/time/clocks';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { ChecksController } from './system.controller.js';

const STATEMENT_MS = 100;

let test: TestDatabase;
let database: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  const options = { url: test.url, poolSize: 2, applicationName: 'checks-spec', entities: [] };
  database = await Database.connect({ ...options, statementTimeoutMs: STATEMENT_MS });
});
afterAll(async () => {
  await database.close();
  await test.drop();
});

it('a check may take longer than the statements of other requests', async () => {
  const other = new pg.Client(test.adminUrl);
  await other.connect();
  await other.query('begin; lock table audience.subscribers in access exclusive mode');
  const checks = new ChecksController(
    database,
    new ManualClock(new Date()),
    new CountersService(database),
    // Other checks have these.
    undefined as never,
    undefined as never,
  );
  const checked = checks.run('counters').catch((error: unknown) => error);
  await eventually('it has waited for longer than that', async () => {
    const waiting = await test.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
         and now() - query_start > $1 * interval '2 milliseconds'`,
      [STATEMENT_MS],
    );
    return waiting.length > 0;
  });
  await other.query('rollback');
  await other.end();
  expect(await checked).toMatchObject({ name: 'counters', isCorrect: true });
});
