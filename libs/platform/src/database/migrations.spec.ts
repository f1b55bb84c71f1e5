import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { databaseChecks, HealthChecks } from '../operations.js';
import { databaseFailure } from './database-failure.js';
import { Database } from './database.js';
import { excessiveRights, migrationNames, refuseUnfitDatabase } from './fit-database.js';
import { migrate, MigrationFailedError } from './migrations.js';

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
    // A schema that the first migration makes as well, and has to wait for.
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
    expect(await migrate(url)).toEqual(await migrationNames());
  });

  it('names the file that failed, and applies nothing', async () => {
    await test.query(`create database ${empty}_taken`);
    const url = test.adminUrl.replace(/[^/]+$/, `${empty}_taken`);
    const before = new pg.Client({ connectionString: url });
    await before.connect();
    try {
      await before.query('create schema deliverability');
      await expect(migrate(url)).rejects.toThrow(
        'migrations/20261122200500_deliverability.sql failed, and nothing was applied: schema "deliverability" already exists',
      );
      const { rows } = await before.query(`select to_regclass('platform.inbox') as inbox`);
      expect(rows).toEqual([{ inbox: null }]);
    } finally {
      await before.end();
      await test.query(`drop database ${empty}_taken with (force)`);
    }
  });

  it('says on which line of the file it failed', async () => {
    const file = { name: 'x', statements: 'select 1;\n\nselect nothing;', digest: '' };
    const cause = Object.assign(new Error('select …\ncolumn does not exist'), { position: '19' });
    expect(new MigrationFailedError(file, cause).message).toBe(
      'migrations/x.sql, line 3, failed, and nothing was applied: column does not exist',
    );
  });

  it('refuses a history in which a file was changed after it was applied', async () => {
    const name = '20261122200100_access';
    const [digest] = await test.query<{ digest: string }>(
      `select digest from public.schema_migrations where name = '${name}'`,
    );
    await test.query(`update public.schema_migrations set digest = 'another' where name = '${name}'`);
    await expect(migrate(test.adminUrl)).rejects.toThrow(
      `Migrations were changed after they were applied: ${name}.`,
    );
    await test.query(`update public.schema_migrations set digest = $1 where name = '${name}'`, [
      digest?.digest,
    ]);
    expect(await migrate(test.adminUrl)).toEqual([]);
  });

  it('refuses a history that goes on where this version ends, and so does a program at its start, but none that runs', async () => {
    const database = await Database.connect({
      url: test.url,
      poolSize: 2,
      applicationName: 'spec',
      entities: [],
    });
    const ready = () => new HealthChecks(databaseChecks(database)).readiness();
    try {
      expect(await ready()).toEqual({ status: 'ok', checks: { database: 'ok', migrations: 'ok' } });
      await test.query(`insert into public.schema_migrations (name) values ('29991231000000_later')`);
      const refusal =
        'The database is newer than this program, which does not know its migrations 29991231000000_later.';
      await expect(migrate(test.adminUrl)).rejects.toThrow(refusal);
      await expect(refuseUnfitDatabase(database.pool)).rejects.toThrow(refusal);
      expect(await ready()).toMatchObject({ status: 'ok' });
    } finally {
      await test.query(`delete from public.schema_migrations where name = '29991231000000_later'`);
      await database.close();
    }
  });

  it('makes the login of the programs, and leaves one that is there', async () => {
    const login = `login_${randomBytes(4).toString('hex')}`;
    const url = Object.assign(new URL(test.url), { username: login, password: `it's "secret"` }).href;
    await migrate(test.adminUrl, url);
    await migrate(test.adminUrl, url.replace(/secret/, 'another'));
    const database = await Database.connect({ url, poolSize: 2, applicationName: 'spec', entities: [] });
    try {
      await database.ping();
      expect(await excessiveRights(database.pool)).toBeNull();
    } finally {
      await database.close();
      await test.query(`drop role ${login}`);
    }
  });

  it('warns of a login that may do more than it has to', async () => {
    const database = await Database.connect({
      url: test.adminUrl,
      poolSize: 2,
      applicationName: 'spec',
      entities: [],
    });
    try {
      expect(await excessiveRights(database.pool)).toMatch(
        /^The login postgres of DATABASE_URL is a superuser\. .*DATABASE_OWNER_URL/,
      );
    } finally {
      await database.close();
    }
  });
});

async function pidOf(client: pg.Client): Promise<unknown> {
  return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
}
