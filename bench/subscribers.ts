import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '#platform';
import { addKey, startSystemOn } from '#testing/programs/system';
import { type AudienceData, fillAudience, type Query } from './support/audience-data.js';
import { startBenchServer } from './support/bench-server.js';
import { spread } from './support/figures.js';
import { type Load, load, type LoadRequest } from './support/http-load.js';
import { cpuSeconds, treeCpuSeconds } from './support/process-usage.js';

/**
 * Subscribers over HTTP. Get and create: the built api against a bare Fastify + pg program with the same SQL, in
 * turn. Lists: the api alone, first, middle and last pages, with filters.
 */
const ROWS = Number(process.env['ROWS'] ?? 200_000);
const PAIRS = Number(process.env['PAIRS'] ?? 5);
const SECONDS = Number(process.env['SECONDS'] ?? 5);
const PARALLEL = 20;
const PARTS = process.env['ONLY']?.split(',') ?? ['get', 'list', 'create'];
const SIZE = 20;
const WARM_UP_SECONDS = 10;

const say = (line: string) => process.stdout.write(`${line}\n`);
const server = await startBenchServer();
const system = await startSystemOn(server.database);
const query: Query = (text, values) => system.database.query(text, values);
const reference = fork(join(projectRoot(), 'dist/bench/reference/subscribers.js'), {
  env: { PATH: process.env['PATH'], DATABASE_URL: system.database.adminUrl },
});
let serial = 0;

try {
  const [listening] = (await once(reference, 'message')) as [{ port: number }];
  await query('create sequence bench_subscriber_key');
  const data = await fillAudience(query, { subscribers: ROWS, events: 0 });
  await query(
    `insert into billing.subscriptions (tenant_id, plan_tier, status, billing_interval, anchored_at, created_at, updated_at)
     values ($1, 'PRO', 'ACTIVE', 'MONTHLY', now(), now(), now())`,
    [data.scope.tenantId],
  );
  await query(`select setval('access.key_subscriber_${data.scope.projectId}', ${ROWS} + 1)`);
  const headers = { 'x-api-key': await addKey(system.database, data.scope) };
  const ours = { port: system.api.port, pid: system.api.pid, headers };
  const bare = { port: listening.port, pid: reference.pid ?? 0, headers };
  say(
    `${ROWS} subscribers, ${PARALLEL} requests in parallel, load of the machine ${loadavg()[0]?.toFixed(1)}`,
  );
  if (PARTS.includes('get')) await compare('get', ours, bare, await getRequest(data));
  if (PARTS.includes('list')) await measureLists(ours, data);
  if (PARTS.includes('create')) await compare('create', ours, bare, createRequest(data));
} finally {
  await end(reference);
  await system.stop();
  await server.stop();
}

interface Target {
  readonly port: number;
  readonly pid: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** With the CPU that a request took, which does not depend on what else the machine does. */
interface Measured extends Load {
  readonly programMs: number;
  readonly postgresMs: number;
}

async function measured(
  target: Target,
  ...rest: [() => LoadRequest, { connections: number; seconds: number }]
) {
  const before = { program: cpuSeconds(target.pid), postgres: treeCpuSeconds(server.pid) };
  const run = await load(target, ...rest);
  const each = (seconds: number) => (seconds * 1_000) / run.requests;
  return {
    ...run,
    programMs: each(cpuSeconds(target.pid) - before.program),
    postgresMs: each(treeCpuSeconds(server.pid) - before.postgres),
  };
}

/** A warm-up, then pairs. */
async function compare(name: string, ours: Target, bare: Target, next: () => LoadRequest): Promise<void> {
  const pairs: { ours: Measured; bare: Measured }[] = [];
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const run = {
      ours: await measured(ours, next, { connections: PARALLEL, seconds: SECONDS }),
      bare: await measured(bare, next, { connections: PARALLEL, seconds: SECONDS }),
    };
    if (pair > 0) pairs.push(run);
  }
  const both = (pick: (run: Measured) => number, digits: number) =>
    [
      spread(
        pairs.map((pair) => pick(pair.ours)),
        digits,
      ),
      spread(
        pairs.map((pair) => pick(pair.bare)),
        digits,
      ),
    ].join(' against ');
  say(`${name}: ${both(({ perSecond }) => perSecond, 0)} requests/s`);
  say(`  p50 ${both(({ p50Ms }) => p50Ms, 1)} ms, p99 ${both(({ p99Ms }) => p99Ms, 1)} ms`);
  say(
    `  CPU ms: program ${both(({ programMs }) => programMs, 2)}, PostgreSQL ${both(({ postgresMs }) => postgresMs, 2)}`,
  );
  say(`  ratio ${spread(pairs.map((pair) => pair.ours.perSecond / pair.bare.perSecond))}`);
}

async function getRequest({ scope }: AudienceData): Promise<() => LoadRequest> {
  const known = await query<{ email: string }>(
    'select email from audience.subscribers where environment_id = $1 order by md5(id::text) limit 10000',
    [scope.environmentId],
  );
  return () => {
    serial += 1;
    const email = known[serial % known.length]?.email ?? '';
    return { method: 'GET', path: `/api/v1/subscribers/${encodeURIComponent(email)}`, status: 200 };
  };
}

function createRequest({ topics }: AudienceData): () => LoadRequest {
  return () => {
    serial += 1;
    const body = JSON.stringify({
      email: `new-${serial}@example.com`,
      firstName: 'Ada',
      topicKeys: [topics[0]?.topicKey],
      consent: { source: 'bench' },
    });
    return { method: 'POST', path: '/api/v1/subscribers', body, status: 201 };
  };
}

async function measureLists(target: Target, { topics, now }: AudienceData): Promise<void> {
  const ago = (days: number) => encodeURIComponent(new Date(now.getTime() - days * 86_400_000).toISOString());
  const filters: Readonly<Record<string, string>> = {
    none: '',
    'a status': 'status=ACTIVE',
    'a rare status': 'status=UNSUBSCRIBED',
    'a topic of most': `topicKey=${topics[0]?.topicKey}`,
    'a topic of few': `topicKey=${topics[2]?.topicKey}`,
    'topic and status': `topicKey=${topics[0]?.topicKey}&status=UNSUBSCRIBED`,
    'q, an address': 'q=person.12345',
    'q, a first name of one in eight': 'q=Ada',
    'q, a last name': 'q=family1234',
    'created within a week': `createdAfter=${ago(7)}`,
    'created within two years': `createdAfter=${ago(730)}`,
    'status and created within two years': `status=ACTIVE&createdAfter=${ago(730)}`,
    'updated within a week': `updatedAfter=${ago(7)}`,
  };
  let turn = 0;
  const anyList = (): LoadRequest => {
    turn += 1;
    const filter = Object.values(filters)[turn % Object.keys(filters).length] ?? '';
    return listRequest(filter, 0, SIZE);
  };
  // Warm-up: code for lists is compiled only after some thousands of them, and a server answers with compiled code all day.
  await load(target, anyList, { connections: PARALLEL, seconds: WARM_UP_SECONDS });
  for (const [name, filter] of Object.entries(filters)) {
    const total = await totalOf(target, filter);
    const pages = Math.ceil(total / SIZE);
    say(`list, ${name}: ${total} subscribers`);
    // Pages of 11 to 30 in turn: who asks for the very same at the same time shares one read.
    const others = () => listRequest(filter, 0, 11 + ((turn += 1) % SIZE));
    await measurePages('page 1, each another', target, others, PARALLEL);
    await measurePages('page 1, the same', target, () => listRequest(filter, 0, SIZE), PARALLEL);
    await measurePages('middle', target, () => listRequest(filter, Math.floor(pages / 2), SIZE), 1);
    await measurePages('last', target, () => listRequest(filter, Math.max(0, pages - 1), SIZE), 1);
  }
}

function listRequest(filter: string, page: number, size: number): LoadRequest {
  return { method: 'GET', path: `/api/v1/subscribers?page=${page}&size=${size}&${filter}`, status: 200 };
}

async function measurePages(
  name: string,
  target: Target,
  next: () => LoadRequest,
  connections: number,
): Promise<void> {
  await load(target, next, { connections, seconds: SECONDS / 5 });
  const run = await measured(target, next, { connections, seconds: SECONDS });
  const { perSecond, p50Ms, p99Ms } = run;
  say(
    `  ${name}, ${connections} in parallel: p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ${perSecond.toFixed(0)}/s, CPU ${run.programMs.toFixed(2)} + ${run.postgresMs.toFixed(2)} ms`,
  );
}

async function totalOf({ port, headers }: Target, filter: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/subscribers?size=1&${filter}`, { headers });
  const { pagination } = (await answer.json()) as { pagination: { totalElements: number } };
  return pagination.totalElements;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}
