import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type RunningSystem, startSystem } from '#testing/programs/system';

/** Only ends a hang. */
const TERMINATION_MS = 300_000;

describe('a PostgreSQL that was demoted and can only be read', () => {
  let system: RunningSystem;
  let client: ApiClient;

  beforeAll(async () => {
    system = await startSystem();
    client = await (await system.project()).client('TEST');
  });

  afterAll(() => system?.stop());

  async function setReadOnly(isReadOnly: boolean): Promise<void> {
    const name = new URL(system.database.url).pathname.slice(1);
    await system.database.query(
      isReadOnly
        ? `alter database ${name} set default_transaction_read_only = on`
        : `begin read write; alter database ${name} reset default_transaction_read_only; commit`,
    );
    // Until each has ended: one that lives on would answer as before.
    await system.database.query(
      `select pg_terminate_backend(pid, ${TERMINATION_MS}) from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
  }

  const readiness = ({ port }: { readonly port: number }) =>
    fetch(`http://127.0.0.1:${port}/health/ready`).then(({ status }) => status);

  it('is an outage: the api and the worker are not ready, requests get 503 until it can be written to', async () => {
    await setReadOnly(true);
    expect(await readiness(system.api)).toBe(503);
    expect(await readiness(system.worker)).toBe(503);
    for (const answer of [
      await client.get('/topics'),
      await client.post('/topics', { name: 'News', doubleOptInEnabled: false }),
    ]) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(answer.body).toMatchObject({ type: expect.stringMatching(/unavailable$/) });
    }
    await setReadOnly(false);
    await eventually('both are ready', async () => {
      const states = [await readiness(system.api), await readiness(system.worker)];
      return states.every((status) => status === 200);
    });
    const answer = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    expect(answer.status).toBe(201);
  });
});
