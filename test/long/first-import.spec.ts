import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import type { RunningSystem } from '#testing/programs/system';
import {
  startWatchedSystem,
  type WatchedPostgres,
  type WatchedSystem,
} from '#testing/postgres/watched-postgres';

/** Ten pieces, each of which is one statement. */
const PEOPLE = 10_000;
const PIECE = 1_000;

describe('the first import of an installation', () => {
  let watched: WatchedSystem;
  let postgres: WatchedPostgres;
  let database: TestDatabase;
  let system: RunningSystem;

  beforeAll(async () => {
    watched = await startWatchedSystem();
    ({ postgres, database, system } = watched);
  });
  afterAll(() => watched?.stop());

  it('looks each of its people up by address, though nothing was ever analysed', async () => {
    const client = await (await system.project('FIRST')).client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    await postgres.watch(database, true);
    const answer = await client.post('/subscriber-imports', {
      topicKeys: [topic.at('topicKey')],
      consent: { source: 'test' },
      rows: Array.from({ length: PEOPLE }, (_, number) => ({ email: `p${number}@example.com` })),
    });
    await eventually('the import ends', async () => {
      const found = await client.get(`/subscriber-imports/${answer.at('id')}`);
      return found.at('completedAt') !== null;
    });
    await postgres.watch(database, false);
    expect(answer.status).toBe(202);
    const widest: number[] = [];
    for await (const statement of postgres.statements(new Date(0))) {
      if (statement.text.includes('import_new_subscribers')) widest.push(statement.widest);
    }
    expect(widest).toHaveLength(PEOPLE / PIECE);
    // To the planner any index is as good while there is next to nobody: it reads a piece of people for each.
    expect(widest.filter((rows) => rows > 2 * PIECE).length).toBeLessThanOrEqual(3);
    expect(Math.max(...widest)).toBeLessThanOrEqual(3 * PIECE * PIECE);
  }, 120_000);
});
