import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ManualClock } from '#testing/time/clocks';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { DatabaseClock, present, presentAnd } from './clock.js';
import { Database } from './database.js';

const DAY = 86_400_000;

describe('the time of a database', () => {
  const server = new ManualClock(new Date('2031-05-01T12:00:00Z'));
  let test: TestDatabase;
  let moved: Database;

  beforeAll(async () => {
    test = await createTestDatabase();
    moved = await Database.connect({
      url: test.url,
      poolSize: 1,
      applicationName: 'spec',
      entities: [],
      clock: server,
    });
  });
  afterAll(async () => {
    await moved?.close();
    await test?.drop();
  });

  const told = (database: Database) =>
    database.statement(
      'system',
      sql<{ now: Date; later: Date }>`select ${present} as now, ${presentAnd(1_500)} as later`,
    );

  it('is that of a test’s clock, in single statements and in transactions, whenever it is moved', async () => {
    for (const moves of [0, DAY, DAY]) {
      server.advance(moves);
      const now = server.now();
      expect(await told(moved)).toEqual([{ now, later: new Date(now.getTime() + 1_500) }]);
      const { rows } = await moved.system(() =>
        sql<{ now: Date }>`select ${present} as now`.execute(moved.tables()),
      );
      expect(rows).toEqual([{ now }]);
    }
  });

  it('is what a program goes by, whatever the clock of its own machine says', async () => {
    const clock = new DatabaseClock();
    expect(Math.abs(clock.now().getTime() - Date.now())).toBeLessThan(DAY);
    await clock.follow(moved);
    expect(Math.abs(clock.now().getTime() - server.now().getTime())).toBeLessThan(DAY);
    await clock.stop();
  });

  it('is the server’s own where nobody moves it', async () => {
    const plain = await Database.connect({
      url: test.url,
      poolSize: 1,
      applicationName: 'spec',
      entities: [],
    });
    const [row] = await told(plain);
    await plain.close();
    expect(Math.abs((row?.now.getTime() ?? 0) - Date.now())).toBeLessThan(DAY);
  });
});
