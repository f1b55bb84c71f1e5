import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestDatabase } from '../support/database.js';
import { type RunningSystem, startSystemOn } from '../support/system.js';
import { WatchedPostgres, type WatchedStatement } from '../support/watched-postgres.js';
import { ProjectLife, type Step } from './growing-project.fixture.js';

const PEOPLE = Number(process.env['GROWTH_PEOPLE'] ?? 2_000);
const FEW = 5;
/** A statement may touch so many rows for each of the people. */
const ROWS_EACH = 60;

describe('a project that grows quickly', () => {
  let postgres: WatchedPostgres;
  let database: TestDatabase;
  let system: RunningSystem;
  const timings: [string, number][] = [];

  beforeAll(async () => {
    postgres = await WatchedPostgres.open();
    database = postgres.database();
    system = await startSystemOn(database);
  }, 60_000);

  afterAll(async () => {
    await system?.worker.stop();
    await system?.api.stop();
    await database?.drop();
    await postgres?.close();
  });

  const step: Step = async (name, work) => {
    postgres.during = name;
    const begin = performance.now();
    const result = await work();
    timings.push([name, performance.now() - begin]);
    return result;
  };

  const life = async (key: string) => {
    const project = await system.project(key);
    return new ProjectLife(await project.client('TEST'), step);
  };

  const costly = (): WatchedStatement[] => postgres.statements.filter(({ rows }) => rows > PEOPLE * ROWS_EACH);

  it('x', async () => {
    const old = await life('OLD');
    await old.begin();
    for (let year = 0; year < 3; year++) await old.year(FEW);
    await database.query('analyze');
    await old.year(FEW);
    const fresh = await life('NEW');
    await fresh.begin();
    await postgres.watch(database, 2);
    timings.length = 0;
    try {
      if (process.env['ONLY'] !== 'new') await old.year(PEOPLE);
      if (process.env['ONLY'] !== 'old') await fresh.year(PEOPLE);
    } finally {
      const fs = await import('node:fs');
      fs.writeFileSync('/tmp/growth-statements.json', JSON.stringify(postgres.statements));
      fs.writeFileSync('/tmp/growth-timings.json', JSON.stringify(timings));
      fs.writeFileSync('/tmp/growth-worker.log', system.worker.output() + system.api.output());
    }
    await postgres.watch(database, null);
    expect(costly().map(({ during, text, rows }) => `${during}: ${rows} rows: ${text}`)).toEqual([]);
  }, 1_200_000);
});
