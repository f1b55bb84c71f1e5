import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ManualClock } from '#testing/time/clocks';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { Database } from '../database/database.js';
import { createLogger } from '../logger.js';
import { HousekeepingService } from './housekeeping.service.js';

const YEAR = new Date().getUTCFullYear() + 1;
const logger = createLogger({ LOG_LEVEL: 'silent', LOG_FORMAT: 'json' }, 'spec');

let test: TestDatabase;
let database: Database;
let other: pg.Client;

beforeEach(async () => {
  test = await createTestDatabase();
  await withoutYearsToCome();
  database = await Database.connect({
    url: test.url,
    poolSize: 2,
    applicationName: 'create-partitions',
    entities: [],
  });
  other = new pg.Client({ connectionString: test.adminUrl });
  await other.connect();
});

afterEach(async () => {
  await other.end();
  await database.close();
  await test.drop();
});

/** No other installation has the partitions that tests have for them. */
async function withoutYearsToCome(): Promise<void> {
  const tables = await test.query<{ name: string }>(
    `select oid::regclass::text as name from pg_class where relname like '%\\_to\\_come' and relkind = 'r'`,
  );
  await test.query(`drop table ${tables.map(({ name }) => name).join(', ')}`);
}

const makeMonths = (month: string) =>
  new HousekeepingService(
    database,
    new ManualClock(new Date(`${month}-15T00:00:00Z`)),
    logger,
  ).createPartitions();

const partitionsOf = async (table: string) =>
  (
    await test.query<{ name: string }>(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = $1::regclass order by c.relname desc`,
      [table],
    )
  ).map(({ name }) => name);

it('removes requests of the log after a day', async () => {
  await test.query(
    `insert into platform.request_log (environment_id, id, answered_at, method, status, request_id, key_id, ms)
     select 1, gen_random_uuid(), now() - hours * interval '1 hour', 'GET', 200, hours, gen_random_uuid(), 1
     from unnest(array[23, 25]) hours`,
  );
  await new HousekeepingService(database, new ManualClock(new Date()), logger).removeExpiredRows();
  expect(await test.query('select request_id from platform.request_log')).toEqual([{ request_id: '23' }]);
});

const write = (day: string) =>
  test.query(
    `insert into messaging.automation_steps (environment_id, at, entered_on, position, run_id, status)
     values (1, now(), $1, 0, gen_random_uuid(), 'DONE')`,
    [day],
  );

const placesOf = async (table: string) =>
  (
    await test.query<{ place: string }>(`select tableoid::regclass::text as place from ${table} order by 1`)
  ).map(({ place }) => place.replace(/.*\./, ''));

describe('the partitions of the months to come', () => {
  it('are made without a gap, half a year ahead, however often it is done', async () => {
    await makeMonths(`${YEAR}-12`);
    await makeMonths(`${YEAR}-12`);
    const names = await partitionsOf('audience.consent_ledger');
    expect(names.slice(0, 8)).toEqual([
      'consent_ledger_earlier',
      ...['06', '05', '04', '03', '02', '01'].map((month) => `consent_ledger_${YEAR + 1}${month}`),
      `consent_ledger_${YEAR}12`,
    ]);
    // From the month in which the database was migrated.
    const [, year = '', month = ''] = /_(\d{4})(\d\d)$/.exec(names.at(-1) ?? '') ?? [];
    const months = (YEAR + 1 - Number(year)) * 12 + 6 - Number(month) + 1;
    expect(months).toBeGreaterThan(6);
    expect(names).toHaveLength(months + 1);
  });

  it('have the room on their pages that the ones before have', async () => {
    await makeMonths(`${YEAR}-12`);
    const roomOf = async (partition: string) =>
      test.query<{ columns: string; room: string }>(
        `select coalesce(regexp_replace(pg_get_indexdef(i.indexrelid), '.* USING | WITH.*', '', 'g'), 'table') as columns,
           array_to_string(c.reloptions, ', ') as room
         from pg_class c left join pg_index i on i.indexrelid = c.oid
         where c.reloptions is not null and $1::regclass in (i.indrelid, c.oid) order by 1`,
        [partition],
      );
    const made = await roomOf(`messaging.deliveries_${YEAR}12`);
    expect(made).toEqual(await roomOf('messaging.deliveries_earlier'));
    expect(made).toEqual([{ columns: 'table', room: 'fillfactor=40' }]);
  });

  it('tell the planner of environments what the ones before do', async () => {
    await makeMonths(`${YEAR}-12`);
    const told = await test.query<{ options: string[] | null }>(
      `select attoptions as options from pg_attribute where attname = 'environment_id' and attrelid in ($1::regclass, $2::regclass)`,
      [`messaging.deliveries_${YEAR}12`, 'messaging.deliveries_earlier'],
    );
    expect(told.map(({ options }) => options)).toEqual([['n_distinct=4'], ['n_distinct=4']]);
  });

  it('are made while somebody reads the whole table, and nobody waits', async () => {
    await other.query('begin');
    await other.query('select count(*) from messaging.automation_steps');
    await makeMonths(`${YEAR}-12`);
    await write(`${YEAR}-12-24`);
    expect(await partitionsOf('messaging.automation_steps')).toContain(`automation_steps_${YEAR}12`);
    await other.query('commit');
    expect(await placesOf('messaging.automation_steps')).toEqual([`automation_steps_${YEAR}12`]);
  });

  it('leave a table that somebody has locked for later, and nobody waits behind them', async () => {
    await other.query('begin; lock table messaging.automation_steps in share update exclusive mode');
    const before = await partitionsOf('messaging.automation_steps');
    await makeMonths(`${YEAR}-12`);
    expect(await partitionsOf('messaging.automation_steps')).toEqual(before);
    expect(await partitionsOf('messaging.deliveries')).toContain(`deliveries_${YEAR}12`);
    await write('2020-01-01');
    await other.query('commit');
    await makeMonths(`${YEAR}-12`);
    expect(await partitionsOf('messaging.automation_steps')).toContain(`automation_steps_${YEAR}12`);
  });

  it('can be detached while they are used, and moved away', async () => {
    await makeMonths(`${YEAR}-12`);
    const month = `messaging.automation_steps_${YEAR}01`;
    await test.query(`alter table messaging.automation_steps detach partition ${month} concurrently`);
    await test.query(`create schema archive`);
    await test.query(`alter table ${month} set schema archive`);
    await makeMonths(`${YEAR}-12`);
    await write(`${YEAR}-01-01`);
    expect(await placesOf('messaging.automation_steps')).toEqual([`automation_steps_${YEAR}01`]);
  });
});
