import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { eventually } from '../../../../test/support/eventually.js';
import { databaseFailure } from './database-failure.js';
import { migrate } from './migrations.js';

describe('Bringing a database to the schema', () => {
  let test: TestDatabase;
  let empty: string;

  beforeAll(async () => {
    test = await createTestDatabase();
    empty = `${new URL(test.url).pathname.slice(1)}_empty`;
    await test.query(`create database ${empty}`);
  });

  afterAll(async () => {
    await test.query(`drop database ${empty} with (force)`);
    await test.drop();
  });

  it('ends with words when PostgreSQL goes away in the middle, and is whole the next time', async () => {
    const url = test.adminUrl.replace(/[^/]+$/, empty);
    const blocker = new pg.Client({ connectionString: url });
    await blocker.connect();
    // What the first migration makes as well, and has to wait for.
    await blocker.query('begin; create schema platform');
    const cut = migrate(url).then(
      () => 'it was done',
      (error: unknown) => databaseFailure(error)?.code ?? String(error),
    );
    await eventually('a migration waits', async () => {
      const waiting = await test.query(
        `select 1 from pg_stat_activity where datname = '${empty}' and wait_event_type = 'Lock'`,
      );
      return waiting.length > 0;
    });
    await test.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = '${empty}' and pid <> ${Number(await pidOf(blocker))}`,
    );
    expect(await cut).toBe('unavailable');
    await blocker.query('rollback');
    await blocker.end();
    expect((await migrate(url)).length).toBeGreaterThan(10);
  });
});

async function pidOf(client: pg.Client): Promise<unknown> {
  return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
}
