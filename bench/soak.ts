import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { startSystemOn } from '#testing/programs/system';
import { startBenchServer } from './support/bench-server.js';
import { growth, type Sample } from './support/growth.js';
import { MixedLoad } from './support/mixed-load.js';
import { memoryMb } from './support/process-usage.js';
import { startSinkProcess } from './support/sink-process.js';

/**
 * Mixed load for SOAK_MINUTES: subscribers, lists, clicks, an automation, one campaign after the other. SOAK_PACE of
 * 0.2 is a fifth of it. Ends with 1 when a process holds more than a tenth more at the end than after the warm-up, or
 * a request failed.
 */
const MINUTES = Number(process.env['SOAK_MINUTES'] ?? 30);
const RECIPIENTS = Number(process.env['SOAK_RECIPIENTS'] ?? 1_000);
const PACE = Number(process.env['SOAK_PACE'] ?? 1);
const SECONDS = MINUTES * 60;
/** Caches fill and code is compiled. */
const WARM_UP_SECONDS = Math.min(SECONDS / 3, 600);
const SAMPLE_EVERY_MS = 2_000;
const TELL_EVERY = 15;
const MOST = 0.1;

const say = (line: string) => process.stdout.write(`${line}\n`);
const server = await startBenchServer();
const sink = await startSinkProcess();
const { database } = server;
const system = await startSystemOn(database, { SMTP_URL: sink.url, REQUIRE_VERIFIED_DOMAIN: 'false' });
const samples: Record<'api' | 'worker', Sample[]> = { api: [], worker: [] };
const stopping = new AbortController();

try {
  const project = await system.project();
  await database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
  const client = await project.client('LIVE');
  const bulk = await client.post('/topics', { name: 'Bulk', doubleOptInEnabled: false });
  if (bulk.status !== 201) throw new Error(`A topic answered ${bulk.status}: ${bulk.text}`);
  await insertSubscribers(database, project.live, bulk.at('id'), RECIPIENTS);
  const load = new MixedLoad(
    {
      baseUrl: system.baseUrl,
      key: client.key ?? '',
      scope: project.live,
      database,
      bulkTopicId: bulk.at('id'),
      pace: PACE,
    },
    stopping.signal,
  );
  const running = load.run();
  running.catch(() => stopping.abort());
  await sample(load);
  stopping.abort();
  await running;
  report(load);
} finally {
  await system.stop();
  await sink.stop();
  await server.stop();
}

async function sample(load: MixedLoad): Promise<void> {
  const began = performance.now();
  for (let look = 0; !stopping.signal.aborted; look += 1) {
    const seconds = (performance.now() - began) / 1_000;
    if (seconds > SECONDS) return;
    samples.api.push({ seconds, megabytes: memoryMb(system.api.pid).now });
    samples.worker.push({ seconds, megabytes: memoryMb(system.worker.pid).now });
    if (look % TELL_EVERY === 0) tell(seconds, load);
    await delay(SAMPLE_EVERY_MS);
  }
}

function tell(seconds: number, { done, failures }: MixedLoad): void {
  const counts = [...done].map(([kind, count]) => `${count} ${kind}`).join(', ');
  say(
    `${seconds.toFixed(0)} s: api ${samples.api.at(-1)?.megabytes} MB, worker ${samples.worker.at(-1)?.megabytes} MB, ` +
      `load ${loadavg()[0]?.toFixed(1)}; ${counts}; ${failures.length} failures`,
  );
}

function report(load: MixedLoad): void {
  tell(SECONDS, load);
  for (const failure of load.failures.slice(0, 10)) say(`  ${failure}`);
  let isSteady = true;
  for (const name of ['api', 'worker'] as const) {
    const { from, to, share } = growth(samples[name], WARM_UP_SECONDS);
    say(`${name}: ${from} MB after the warm-up, ${to} MB at the end, ${(share * 100).toFixed(1)} %`);
    isSteady &&= share <= MOST;
  }
  say(isSteady ? 'Memory is steady.' : `Memory grew by more than ${MOST * 100} %.`);
  if (!isSteady || load.failures.length > 0) process.exitCode = 1;
}
