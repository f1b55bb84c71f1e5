import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { type PostgresWire, watchPostgres } from '#testing/postgres/postgres-wire';
import { Database } from './database.js';
import { named } from './statement.js';

const scope = { tenantId: 1, projectId: 1, environmentId: 1, environment: 'TEST' } as const;

describe('A transaction', () => {
  let test: TestDatabase;
  let wire: PostgresWire;
  let database: Database;

  beforeAll(async () => {
    test = await createTestDatabase();
    await test.query('create table public.lines (line int primary key)');
    await test.query('grant all on public.lines to mailwright_app');
    wire = await watchPostgres(test.url);
    database = await Database.connect({ url: wire.url, poolSize: 1, applicationName: 'spec', entities: [] });
  });
  afterAll(async () => {
    await database.close();
    await wire.close();
    await test.drop();
  });

  const add = (line: number) => sql`${named('add_line')} insert into public.lines values (${line})`;
  const count = sql<{ readonly n: number }>`${named('count_lines')} select count(*) as n from public.lines`;
  const kept = async () =>
    (await test.query<{ line: number }>('select line from lines')).map(({ line }) => line);

  it('asks several statements in one message, and begins in the message of the first', async () => {
    wire.transactions();
    await database.transaction(scope, async () => {
      const [, before] = await database.together(add(1), count);
      expect(before).toEqual([{ n: 1 }]);
      await add(2).execute(database.tables());
    });
    expect(wire.transactions()).toEqual([
      [['begin', 'settings', 'add_line', 'count_lines'], ['add_line'], ['commit']],
    ]);
    expect(await kept()).toEqual([1, 2]);
  });

  it('sends nothing when nothing is asked', async () => {
    wire.transactions();
    await database.transaction(scope, () => Promise.resolve());
    expect(wire.transactions()).toEqual([]);
  });

  it('is one message where it is one statement', async () => {
    wire.transactions();
    expect(await database.write(scope, count)).toEqual([{ n: 2 }]);
    expect(wire.transactions()).toEqual([[['begin', 'settings', 'count_lines', 'commit']]]);
    await expect(database.write(scope, add(1))).rejects.toMatchObject({ code: '23505' });
  });

  it('runs no statement behind one that fails, and does not commit', async () => {
    const failing = database.transaction(scope, () => database.together(add(3), add(1), add(4)));
    await expect(failing).rejects.toMatchObject({ code: '23505' });
    expect(await kept()).toEqual([1, 2]);
  });

  it('parses again what stood behind a statement that failed', async () => {
    const behind = sql<{ readonly one: number }>`${named('stood_behind')} select 1 as one`;
    const failing = database.transaction(scope, () => database.together(add(1), behind));
    await expect(failing).rejects.toMatchObject({ code: '23505' });
    expect(await database.write(scope, behind)).toEqual([{ one: 1 }]);
  });

  it('is asked nothing after its end', async () => {
    const tables = database.transaction(scope, () => Promise.resolve(database.tables()));
    await expect(tables.then((open) => count.execute(open))).rejects.toThrow('The transaction is over.');
    expect(await kept()).toEqual([1, 2]);
  });

  it('gives a connection up where a value cannot be written, and goes on', async () => {
    const unwritable = {
      toPostgres: () => {
        throw new TypeError('Not a value.');
      },
    };
    const failing = database.transaction(scope, () =>
      database.together(count, sql`select ${unwritable}::text`, count),
    );
    await expect(failing).rejects.toThrow('Not a value.');
    expect(await database.write(scope, count)).toEqual([{ n: 2 }]);
  });

  it('sees values that cannot be read as an error, and goes on', async () => {
    const late = sql`select ${'x'}::int`;
    await expect(database.transaction(scope, () => database.together(count, late))).rejects.toMatchObject({
      code: '22P02',
    });
    expect(await database.write(scope, count)).toEqual([{ n: 2 }]);
  });
});
