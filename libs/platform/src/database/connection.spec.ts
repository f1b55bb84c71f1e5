import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { Database } from './database.js';
import { ConnectionPool } from './connection-pool.js';
import { UnsafeSessionError } from './connection.js';

const one = (connectionString: string) => ({ connectionString, max: 1, role: 'mailwright_app' as const });

describe('A connection of the programs', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase();
  });
  afterAll(() => test.drop());

  it('has its role from the first statement on, though the options of its start were dropped', async () => {
    const pool = new ConnectionPool({ ...one(test.adminUrl), settings: ['jit = off'] });
    const { rows } = await pool.query(`select current_user as "user", current_setting('jit') as jit`);
    expect(rows).toEqual([{ user: 'mailwright_app', jit: 'off' }]);
    await pool.end();
  });

  it('is not used where row-level security would not hold for its role', async () => {
    await test.query('alter table platform.jobs disable row level security');
    const pool = new ConnectionPool(one(test.url));
    await expect(pool.query('select 1')).rejects.toThrow(
      'Row-level security does not hold for mailwright_app',
    );
    await test.query('alter table platform.jobs enable row level security');
    await expect(pool.query('select 1')).resolves.toBeDefined();
    await pool.end();
  });

  it('is found out when it has lost its role', async () => {
    const pool = new ConnectionPool(one(test.adminUrl));
    await pool.check();
    await pool.query('reset role');
    await expect(pool.check()).rejects.toThrow('Statements would run as postgres instead of mailwright_app');
    await pool.check();
    await pool.end();
  });

  it('is given up behind a pooler where another session prepared a statement by the same name', async () => {
    const pool = new ConnectionPool(one(test.url));
    const client = await pool.connect();
    await client.query('prepare counted as select 1');
    const asked = { name: 'counted', text: 'select 2' };
    await expect(client.query(asked)).rejects.toMatchObject({ code: '42P05' });
    // A pooler names a process of its own when a connection begins.
    Object.assign(client, { processID: 0 });
    await client.query('begin');
    await expect(client.query(asked)).rejects.toThrow(UnsafeSessionError);
    await client.query('rollback');
    const told = new Promise<unknown>((resolve) => client.query(asked, (error) => resolve(error)));
    expect(await told).toBeInstanceOf(UnsafeSessionError);
    client.release();
    await expect(pool.query('select 1')).resolves.toBeDefined();
    await pool.end();
  });

  it('tells of a server that cannot be reached by the error of PostgreSQL', async () => {
    const pool = new ConnectionPool(one(test.url.replace(/:\d+\//, ':1/')));
    await expect(pool.query('select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await pool.end();
  });

  it('takes its role anew in each transaction', async () => {
    const options = { url: test.adminUrl, poolSize: 1, applicationName: 'spec', entities: [] };
    const database = await Database.connect(options);
    const user = `select current_user as "user"`;
    await database.pool.query('reset role');
    const scope = { tenantId: 1, projectId: 1, environmentId: 1, environment: 'TEST' } as const;
    expect(await database.transaction(scope, () => database.em.execute(user))).toEqual([
      { user: 'mailwright_app' },
    ]);
    await database.close();
  });

  it('may do nothing before it has its role, and become nothing but ours', async () => {
    const login = new pg.Client({ connectionString: test.url });
    await login.connect();
    const refused = async (statement: string) =>
      expect(
        await login.query(statement).then(
          () => 'done',
          ({ code }: { code: string }) => code,
        ),
      ).toBe('42501');
    await refused('select 1 from audience.subscribers');
    await login.query('set role mailwright_system');
    await login.query('set role none');
    await refused('select 1 from platform.jobs');
    await refused('select 1 from public.schema_migrations');
    await refused('create table public.own ()');
    await refused('set role schema_owner');
    const { rows } = await login.query(
      `select (select count(*)::int from pg_class where pg_has_role(session_user, relowner, 'USAGE')) as owned,
         rolsuper or rolcreaterole or rolcreatedb or rolbypassrls or rolreplication as mighty
       from pg_roles where rolname = session_user`,
    );
    expect(rows).toEqual([{ owned: 0, mighty: false }]);
    await login.end();
  });
});
