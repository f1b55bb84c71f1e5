import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { databaseFailure, isServerOutage } from './database-failure.js';

describe('An error of PostgreSQL with the code of too few rights', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase();
  });
  afterAll(() => test?.drop());

  async function refusal(url: string, statement: string): Promise<unknown> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return await client.query(statement).catch((error: unknown) => error);
    } finally {
      await client.end();
    }
  }

  it('is an outage when PostgreSQL cannot open its own file', async () => {
    const [found] = await test.query<{ file: string; directory: string }>(
      `select pg_relation_filepath('access.tenants') as file, current_setting('data_directory') as directory`,
    );
    const path = join(found!.directory, found!.file);
    await chmod(path, 0o000);
    const error = await refusal(test.adminUrl, 'select * from access.tenants');
    await chmod(path, 0o600);
    expect(error).toMatchObject({ code: '42501', message: expect.stringMatching(/^could not open file/) });
    expect(isServerOutage(error)).toBe(true);
    expect(databaseFailure(error)).toEqual({
      code: 'unavailable',
      message: 'PostgreSQL cannot read or write its disk: its log says more.',
    });
  });

  it.each([
    'could not extend file "base/16384/2619": Read-only file system',
    'could not create file "pg_wal/xlogtemp.71": Read-only file system',
    'could not create temporary file "base/pgsql_tmp/pgsql_tmp71.0": Read-only file system',
    'could not write block 3 of relation base/16384/2619: Read-only file system',
  ])('is an outage when its disk is mounted to be read only: %s', (message) => {
    expect(isServerOutage(Object.assign(new Error(message), { code: '42501' }))).toBe(true);
  });

  it('is no outage when the login may not do it', async () => {
    const error = await refusal(test.url, 'create table access.files (file int)');
    expect(error).toMatchObject({ code: '42501' });
    expect(isServerOutage(error)).toBe(false);
    expect(databaseFailure(error)).toMatchObject({ code: 'forbidden' });
  });
});
