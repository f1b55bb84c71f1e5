import { setTimeout as pause } from 'node:timers/promises';
import { loadavg } from 'node:os';
import { addKey, startSystemOn } from '#testing/programs/system';
import { ApiClient } from '#testing/http/api-client';
import { fillAudience, type Query } from './support/audience-data.js';
import { startBenchServer } from './support/bench-server.js';
import { cpuSeconds, memoryMb, treeCpuSeconds } from './support/process-usage.js';

/** Exports of a project with consents and their record: the time from the order to the file, CPU, and the worker's memory. */
const ROWS = Number(process.env['ROWS'] ?? 100_000);
const KINDS = (process.env['ONLY'] ?? 'SUBSCRIBERS,CONSENTS').split(',');

const say = (line: string) => process.stdout.write(`${line}\n`);
const server = await startBenchServer();
const system = await startSystemOn(server.database);
const query: Query = (text, values) => system.database.query(text, values);

try {
  const { scope } = await fillAudience(query, { subscribers: ROWS, events: 0 });
  await query(
    `insert into audience.consent_ledger (id, environment_id, subscriber_id, topic_id, occurred_at, to_status, actor, source, ip_address)
     select gen_random_uuid(), environment_id, subscriber_id, topic_id, granted_at, 'SUBSCRIBED', 'API_KEY', 'form', '203.0.113.7'
     from audience.consents`,
  );
  await query('analyze');
  const client = new ApiClient(system.baseUrl, await addKey(system.database, scope));
  say(`${ROWS} subscribers, load of the machine ${loadavg()[0]?.toFixed(1)}`);
  for (const what of KINDS) await measure(client, what);
} finally {
  await system.stop();
  await server.stop();
}

async function measure(client: ApiClient, what: string): Promise<void> {
  const worker = system.worker.pid;
  const before = { at: performance.now(), worker: cpuSeconds(worker), postgres: treeCpuSeconds(server.pid) };
  const ordered = await client.post('/exports', { what, format: 'CSV' });
  for (;;) {
    await pause(200);
    const found = await client.get(`/exports/${ordered.at('id')}`);
    if (found.at('status') !== 'COMPLETED') continue;
    const made = performance.now();
    const file = await fetch(found.at('url'));
    let bytes = 0;
    for await (const chunk of file.body ?? []) bytes += (chunk as Uint8Array).length;
    const taken = performance.now();
    say(
      `${what}: ${found.at('rows')} rows, ${Math.round(bytes / 1e6)} MB, made in ${seconds(made - before.at)}, taken in ` +
        `${seconds(taken - made)}; CPU: worker ${(cpuSeconds(worker) - before.worker).toFixed(1)} s, PostgreSQL ` +
        `${(treeCpuSeconds(server.pid) - before.postgres).toFixed(1)} s; the worker's memory at most ${memoryMb(worker).peak} MB`,
    );
    return;
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
