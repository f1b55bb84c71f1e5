import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { Database } from '../database/database.js';
import { before, removeOldRows } from './drain.js';

const NOW = new Date('2026-11-21T12:00:00.000Z');
const HOUR_MS = 3_600_000;

const OLD_NOTES = { table: 'public.notes', where: sql`written_at < ${before(NOW, HOUR_MS)}` };

describe('old rows', () => {
  let test: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({
      url: test.url,
      poolSize: 2,
      applicationName: 'spec',
      entities: [],
    });
    await test.query(
      `create table public.notes (environment_id bigint, written_at timestamptz); grant all on public.notes to mailwright_system`,
    );
  });
  beforeEach(() => test.query('truncate public.notes'));
  afterAll(async () => {
    await database?.close();
    await test?.drop();
  });

  const left = async () =>
    (await test.query<{ n: number }>('select count(*)::int as n from public.notes'))[0]?.n;

  it('go, more than a batch of an environment too, and the others stay', async () => {
    await test.query(
      `insert into public.notes select n % 2 + 1, $1::timestamptz - interval '61 minutes' from generate_series(1, 40001) n`,
      [NOW],
    );
    await test.query(`insert into public.notes select 1, $1::timestamptz - interval '59 minutes'`, [NOW]);
    await removeOldRows(database, OLD_NOTES);
    expect(await left()).toBe(1);
  });

  it('stay when they are used again at that moment', async () => {
    await test.query(`insert into public.notes select 1, $1::timestamptz - interval '61 minutes'`, [NOW]);
    const user = new pg.Client({ connectionString: test.adminUrl });
    await user.connect();
    await user.query('begin');
    await user.query('update public.notes set written_at = $1', [NOW]);
    const run = removeOldRows(database, OLD_NOTES);
    await eventually('the removal waits', async () => {
      const waiting = await test.query(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%public%notes%'`,
      );
      return waiting.length > 0;
    });
    await user.query('commit');
    await user.end();
    await run;
    expect(await left()).toBe(1);
  });
});
