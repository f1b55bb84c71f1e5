import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { ManualClock } from '#testing/time/clocks';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { Database } from '../database/database.js';
import { Periodic, PeriodicTasks, periodicTasks } from './periodic-tasks.js';

class Notes {
  readonly runs: string[] = [];

  @Periodic('trim-notes', { everyMs: 60_000 })
  trim(): Promise<void> {
    this.runs.push('trim');
    return Promise.reject(new Error('The disk is full.'));
  }

  @Periodic('count-notes', { everyMs: 120_000 })
  async count(): Promise<void> {
    await Promise.resolve(this.runs.push('count'));
  }

  async read(): Promise<void> {
    await Promise.resolve(this.runs.push('read'));
  }
}

class OtherNotes {
  @Periodic('trim-notes', { everyMs: 1_000 })
  async trim(): Promise<void> {}
}

describe('periodic methods', () => {
  let test: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({ url: test.url, poolSize: 2, applicationName: 'spec', entities: [] });
  });
  afterAll(async () => {
    await database?.close();
    await test?.drop();
  });

  it('run once an interval, on one worker, and one that fails keeps none', async () => {
    const notes = new Notes();
    const clock = new ManualClock(new Date());
    const worker = () =>
      new PeriodicTasks(
        database,
        () => periodicTasks([notes, notes, null]),
        clock,
        pino({ level: 'silent' }),
      );
    const [first, second] = [worker(), worker()];
    await first.pass();
    await second.pass();
    expect(notes.runs).toEqual(['trim', 'count']);
    await test.query(`update platform.schedule set last_run_at = last_run_at - interval '1 minute'`);
    clock.advance(60_000);
    await second.pass();
    await first.pass();
    expect(notes.runs).toEqual(['trim', 'count', 'trim']);
  });

  it('are refused when two have one name', () => {
    expect(() => periodicTasks([new Notes(), new OtherNotes()])).toThrow(
      'Two periodic tasks are called trim-notes.',
    );
  });
});
