import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#kernel';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { CreatePartitions } from './create-partitions.task.js';
import { Database } from './database.js';

let test: TestDatabase;
let database: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  database = await Database.connect({
    url: test.url,
    poolSize: 2,
    applicationName: 'create-partitions',
    entities: [],
  });
});

afterAll(async () => {
  await database?.close();
  await test?.drop();
});

const partitionsOf = (table: string, year: number) =>
  test.query<{ name: string; fillfactor: string | null }>(
    `select c.relname as name, (select option_value from pg_options_to_table(c.reloptions) where option_name = 'fillfactor') as fillfactor
     from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = $1::regclass and c.relname like '%' || $2::int || '%' order by c.relname`,
    [table, year],
  );

describe('the partitions of the months to come', () => {
  it('are made for this month and the two after it, however often it is done', async () => {
    const task = new CreatePartitions(database, new ManualClock(new Date('2031-11-15T00:00:00Z')));
    await task.run();
    await task.run();
    const names = [
      ...(await partitionsOf('audience.consent_ledger', 2031)),
      ...(await partitionsOf('audience.consent_ledger', 2032)),
    ].map(({ name }) => name);
    expect(names).toEqual(['consent_ledger_203111', 'consent_ledger_203112', 'consent_ledger_203201']);
  });

  it('leave a delivery room for the versions that sending it makes', async () => {
    await new CreatePartitions(database, new ManualClock(new Date('2033-01-31T00:00:00Z'))).run();
    const made = await partitionsOf('messaging.deliveries', 2033);
    expect(made.map(({ name }) => name)).toEqual([
      'deliveries_203301',
      'deliveries_203302',
      'deliveries_203303',
    ]);
    const atFirst = await partitionsOf('messaging.deliveries', new Date().getUTCFullYear());
    for (const { fillfactor } of [...made, ...atFirst]) expect(fillfactor).toBe('50');
    expect(atFirst.length).toBeGreaterThan(0);
  });

  it('leave it room in those indexes that hold each of them, and in no others', async () => {
    await new CreatePartitions(database, new ManualClock(new Date('2034-01-31T00:00:00Z'))).run();
    const roomyOf = async (partition: string) => {
      const rows = await test.query<{ columns: string }>(
        `select regexp_replace(pg_get_indexdef(i.indexrelid), '.* USING ', '') as columns from pg_index i
         join pg_class c on c.oid = i.indexrelid where i.indrelid = $1::regclass and c.reloptions @> '{fillfactor=50}'`,
        [partition],
      );
      return rows.map(({ columns }) => columns).sort();
    };
    const made = await roomyOf('messaging.deliveries_203401');
    expect(made).toEqual(await roomyOf('messaging.deliveries_default'));
    expect(made.map((columns) => columns.replace(/ WITH.*/, ''))).toEqual([
      'btree (environment_id, subscriber_id)',
      'btree (id, queued_on)',
      'btree (source_id, address_key, queued_on)',
      'btree (source_id, subscriber_id, queued_on)',
    ]);
  });
});
