import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { startProgram } from '#testing/programs/program';
import { type RunningSystem, startSystem } from '#testing/programs/system';

/** Rows of the import in whose middle the worker is killed: a few batches of them. */
const ROWS = Number(process.env['IMPORT_KILL_ROWS'] ?? 20_000);
/** Lease of a killed worker on its job: after it another may go on. */
const LEASE_MS = 30_000;

describe('a worker', () => {
  let system: RunningSystem;
  let client: ApiClient;

  beforeAll(async () => {
    system = await startSystem();
    client = await (await system.project()).client('TEST');
  });

  afterAll(() => system?.stop());

  /** Lets nobody change those who are there, whom the end of the import changes, until the answer is called. */
  async function holdPeople(): Promise<() => Promise<void>> {
    const holder = new pg.Client({ connectionString: system.database.adminUrl });
    await holder.connect();
    await holder.query('begin');
    await holder.query('select from audience.subscribers for update');
    return () => holder.end();
  }

  it('finishes an import in whose middle another was killed, every row once', async () => {
    const old = await client.post('/topics', { name: 'Old', doubleOptInEnabled: false });
    const importCsv = async (emails: readonly string[], more = '') => {
      const query = `topicKeys=${old.at('topicKey')}&consent.source=old-system${more}`;
      const csv = { headers: { 'content-type': 'text/csv' } };
      const started = await client.post(`/subscriber-imports?${query}`, `email\n${emails.join('\n')}`, csv);
      return started.at('id');
    };
    const doubleOptIn: string = (await client.post('/topics', { name: 'Offers' })).at('topicKey');
    const there = Array.from({ length: 50 }, (_, index) => `there-${index}@example.com`);
    const before = await importCsv(there);
    await eventually(
      'they are there',
      async () => (await client.get(`/subscriber-imports/${before}`)).at('status') === 'COMPLETED',
    );
    const rows = Array.from({ length: ROWS }, (_, index) => {
      if (index % 100 === 1) return `faulty-${index}`;
      if (index % 100 === 2) return 'twice@example.com';
      const left = ROWS - 1 - index;
      return left < there.length ? `there-${left}@example.com` : `kill-${index}@example.com`;
    });
    // Statistics of a project that was small a moment ago: no plan may read all rows again for each.
    await system.database.query('analyze');
    const faulty = rows.filter((row) => row.startsWith('faulty')).length;
    const repeated = rows.filter((row) => row.startsWith('twice')).length - 1;
    const updated = rows.filter((row) => row.startsWith('there')).length;
    const letGo = await holdPeople();
    const path = `/subscriber-imports/${await importCsv(rows, `&topicKeys=${doubleOptIn}`)}`;
    const id = path.split('/').at(-1);
    await eventually(
      'a part is done',
      async () => (await client.get(path)).at<number>('counts', 'created') > 0,
    );
    await system.worker.kill();
    await letGo();
    expect((await client.get(path)).at('status')).toBe('IN_PROGRESS');
    system.worker = await startProgram('worker', system.variables);
    await system.advanceClock(LEASE_MS);
    const created = ROWS - faulty - repeated - updated;
    const ended = await eventually('the import ends', async () => {
      const found = await client.get(path);
      return ['COMPLETED', 'FAILED'].includes(found.at('status')) ? found : null;
    });
    const counts = { total: ROWS, created, updated, skipped: repeated, failed: faulty };
    expect(ended.at('counts')).toEqual(counts);
    const errors = await client.get(`${path}/errors?size=1`);
    expect(errors.at('pagination', 'totalElements')).toBe(faulty + repeated);
    const [kept] = await system.database.query(
      `select (select count(*)::int from audience.subscribers where email_key ~ '^(kill|twice)') as people,
         (select count(*)::int from audience.consent_ledger where actor_id = $1) as recorded,
         (select count(*)::int from audience.confirmations f join audience.topics t on t.id = any(f.topic_ids) where t.topic_key = $2) as asked`,
      [id, doubleOptIn],
    );
    expect(kept).toEqual({
      people: created,
      recorded: 2 * created + updated,
      asked: created + updated,
    });
  });
});
