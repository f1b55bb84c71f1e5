import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { ApiClient } from '#testing/http/api-client';
import { readCsv } from '#testing/fixtures/csv';
import { eventually } from '#testing/time/eventually';
import { startProgram } from '#testing/programs/program';
import { type RunningSystem, startSystem } from '#testing/programs/system';

/** A few parts of the file. */
const ROWS = Number(process.env['EXPORT_KILL_ROWS'] ?? 12_000);
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

  it('begins an export anew in whose middle another was killed, and nothing of the first is left in it', async () => {
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    const emails = Array.from({ length: ROWS }, (_unused, index) => `p${index}@example.com`).toSorted();
    const started = await client.post(
      `/subscriber-imports?topicKeys=${topic.at('topicKey')}&consent.source=shop`,
      ['email', ...emails].join('\n'),
      { headers: { 'content-type': 'text/csv' } },
    );
    await eventually(
      'they are there',
      async () => (await client.get(`/subscriber-imports/${started.at('id')}`)).at('status') === 'COMPLETED',
    );
    // Lets the worker write its first part, and no other.
    const holder = new pg.Client({ connectionString: system.database.adminUrl });
    await holder.connect();
    await system.database.query(
      `create function hold_second_part() returns trigger language plpgsql as $$
       begin
         if new.part = 1 then perform pg_advisory_xact_lock(4711); end if;
         return new;
       end $$`,
    );
    await system.database.query(
      `create trigger hold before insert on messaging.data_export_parts for each row execute function hold_second_part()`,
    );
    await holder.query('select pg_advisory_lock(4711)');
    const path = `/exports/${(await client.post('/exports', { what: 'SUBSCRIBERS', format: 'CSV' })).at('id')}`;
    const partsNow = () =>
      system.database.query<{ run: string }>('select run from messaging.data_export_parts order by part');
    const [first] = await eventually('a part is written', async () => {
      const parts = await partsNow();
      return parts.length > 0 ? parts : null;
    });
    await system.worker.kill();
    await holder.end();
    const open = await client.get(path);
    expect([open.at('status'), open.at('url'), open.at('rows')]).toEqual(['IN_PROGRESS', null, null]);
    // A newcomer is in the file of the next worker as a whole, and a person who leaves is not in it at all.
    const late = {
      email: 'late@example.com',
      topicKeys: [topic.at('topicKey')],
      consent: { source: 'shop' },
    };
    expect((await client.post('/subscribers', late)).status).toBe(201);
    expect((await client.delete(`/subscribers/${emails[0]}`)).status).toBe(204);
    system.worker = await startProgram('worker', system.variables);
    await system.advanceClock(LEASE_MS);
    const made = await eventually('the export is made', async () => {
      const found = await client.get(path);
      return found.at('status') === 'COMPLETED' ? found : null;
    });
    expect(made.at('rows')).toBe(ROWS);
    const [header, ...rows] = readCsv(await (await fetch(made.at('url'))).text());
    expect(header?.[0]).toBe('email');
    expect(rows.map(([email]) => email)).toEqual([...emails.slice(1), late.email].toSorted());
    expect((await partsNow()).map(({ run }) => run)).not.toContain(first?.run);
  });
});
