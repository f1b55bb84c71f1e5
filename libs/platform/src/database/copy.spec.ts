import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setImmediate as afterOthers } from 'node:timers';
import { setImmediate } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { copyOut } from './copy.js';

describe('the data of a COPY', () => {
  let test: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    test = await createTestDatabase();
    client = new pg.Client({ connectionString: test.adminUrl });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await test.drop();
  });

  it('is read whole, however much it is and however slowly, and the connection goes on', async () => {
    for (let kilobytes = 16; kilobytes <= 512; kilobytes += 16) {
      const rows = copyOut(
        client,
        `copy (select lpad(n::text, 1023) from generate_series(1, ${kilobytes}) n) to stdout`,
      );
      let taken = '';
      for await (const chunk of rows as AsyncIterable<Buffer>) {
        taken += chunk.toString();
        await setImmediate();
      }
      const sent = Array.from({ length: kilobytes }, (_, n) => `${String(n + 1).padStart(1_023)}\n`);
      expect(taken === sent.join('')).toBe(true);
      expect(rows.rows).toBe(kilobytes);
      expect((await client.query('select 1')).rowCount).toBe(1);
    }
  });

  it('goes through gzip, as an archive does, and the connection goes on', async () => {
    for (let round = 0; round < 5; round += 1) {
      const rows = copyOut(
        client,
        `copy (select md5(n::text), md5(random()::text), repeat('y', 200) from generate_series(1, 20000 + ${round} * 37) n) to stdout`,
      );
      await pipeline(
        rows,
        createGzip(),
        new Writable({ write: (_chunk, _encoding, done) => void afterOthers(done) }),
      );
      expect((await client.query('select 1')).rowCount).toBe(1);
    }
  });

  it('is not read faster than somebody takes it', async () => {
    const rows = copyOut(client, `copy (select repeat('x', 1023) from generate_series(1, 65536)) to stdout`);
    let taken = 0;
    for await (const chunk of rows as AsyncIterable<Buffer>) {
      taken += chunk.length;
      expect(rows.readableLength).toBeLessThan(4 * 1_024 * 1_024);
    }
    expect(taken).toBe(65_536 * 1_024);
    expect((await client.query('select 1')).rowCount).toBe(1);
  });

  it('is the server’s refusal, where it refuses', async () => {
    await expect(text(copyOut(client, 'copy (select 1 / 0) to stdout'))).rejects.toThrow('division by zero');
    expect((await client.query('select 1')).rowCount).toBe(1);
  });
});
