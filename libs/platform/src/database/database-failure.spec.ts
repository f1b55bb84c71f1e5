import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase } from '#testing/database';
import { databaseFailure } from './database-failure.js';

async function failureAt(url: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return undefined;
  } catch (error) {
    return databaseFailure(error)?.message;
  }
}

describe('What is said of a database that cannot be worked with', () => {
  it('names the variable for a server that does not answer', async () => {
    expect(await failureAt('postgres://u:p@127.0.0.1:1/x')).toContain(
      'does not answer at the host and port of DATABASE_URL',
    );
    expect(await failureAt('postgres://u:p@localhost:1/x')).toContain('does not answer');
  });

  it('names the variable for a wrong password and for a database that is not there', async () => {
    const test = await createTestDatabase();
    try {
      const wrong = new URL(test.url);
      wrong.password = 'wrong';
      expect(await failureAt(wrong.href)).toContain('refuses the user and password of DATABASE_URL');
      expect(await failureAt(test.url.replace(/[^/]+$/, 'no_such_database'))).toContain(
        'The database of DATABASE_URL does not exist',
      );
      expect(await failureAt(test.url)).toBeUndefined();
    } finally {
      await test.drop();
    }
  });

  it('says that what answers may be no PostgreSQL', async () => {
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    expect(await failureAt(`postgres://u:p@127.0.0.1:${port}/x`)).toContain('is no PostgreSQL');
    server.close();
  });

  it('says in one line what a user of too few rights may not do', async () => {
    const test = await createTestDatabase();
    const client = new pg.Client({ connectionString: test.url });
    try {
      await client.connect();
      await client.query('set role mailwright_app');
      const error: unknown = await client
        .query('grant mailwright_system to mailwright_app')
        .catch((reason: unknown) => reason);
      expect(databaseFailure(error)).toEqual({
        code: 'forbidden',
        message: expect.stringMatching(
          /^The user of DATABASE_URL has too few rights \(docs\/database\.md#logins\): permission denied .*[^.]\.$/,
        ),
      });
    } finally {
      await client.end();
      await test.drop();
    }
  });

  it('leaves other errors to others', () => {
    expect(databaseFailure(new Error('something else'))).toBeNull();
    expect(databaseFailure('text')).toBeNull();
  });
});
