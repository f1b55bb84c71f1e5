import pg from 'pg';
import { addKey, startSystemOn } from '#testing/programs/system';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { startBenchServer } from './support/bench-server.js';
import { spread } from './support/figures.js';
import { load, type LoadRequest } from './support/http-load.js';
import { cpuSeconds, treeCpuSeconds } from './support/process-usage.js';

/**
 * Batches of 1 000 events over HTTP, each event with a `uniqueId`, against a bare program that writes as many rows of one person
 * into the same table, without ids, a statement a batch.
 */
const PEOPLE = Number(process.env['PEOPLE'] ?? 100_000);
const PAIRS = Number(process.env['PAIRS'] ?? 5);
const SECONDS = Number(process.env['SECONDS'] ?? 5);
const BATCH = 1_000;
const PARALLEL = 4;

const say = (line: string) => process.stdout.write(`${line}\n`);
const server = await startBenchServer();
const system = await startSystemOn(server.database);
const run = Date.now().toString(36);
let serial = 0;

try {
  const project = await system.project('BENCH');
  const topic = await (
    await project.client('TEST')
  ).post('/topics', { name: 'News', doubleOptInEnabled: false });
  await insertSubscribers(system.database, project.test, topic.at('id'), PEOPLE);
  const pairs: { ours: Measured; bare: Measured }[] = [];
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const pairOf = {
      ours: await overHttp(await addKey(system.database, project.test)),
      bare: await bare(project.test.environmentId),
    };
    if (pair > 0) pairs.push(pairOf);
  }
  const of = (side: 'ours' | 'bare', pick: (measured: Measured) => number, digits = 0) =>
    spread(
      pairs.map((pair) => pick(pair[side])),
      digits,
    );
  say(`${PEOPLE} people, batches of ${BATCH}, ${PARALLEL} in parallel`);
  say(`events/s: ${of('ours', ({ perSecond }) => perSecond)}`);
  say(`events/s, bare: ${of('bare', ({ perSecond }) => perSecond)}`);
  const cpu = (side: 'ours' | 'bare') =>
    `program ${of(side, ({ programUs }) => programUs, 1)}, PostgreSQL ${of(side, ({ postgresUs }) => postgresUs, 1)}`;
  say(`CPU µs an event: ${cpu('ours')}`);
  say(`CPU µs an event, bare: ${cpu('bare')}`);
  say(`ratio: ${spread(pairs.map(({ ours, bare: reference }) => ours.perSecond / reference.perSecond))}`);
} finally {
  await system.stop();
  await server.stop();
}

interface Measured {
  readonly perSecond: number;
  readonly programUs: number;
  readonly postgresUs: number;
}

async function measured(programCpu: () => number, work: () => Promise<number>): Promise<Measured> {
  const before = { program: programCpu(), postgres: treeCpuSeconds(server.pid), at: performance.now() };
  const events = await work();
  const seconds = (performance.now() - before.at) / 1_000;
  return {
    perSecond: events / seconds,
    programUs: ((programCpu() - before.program) * 1e6) / events,
    postgresUs: ((treeCpuSeconds(server.pid) - before.postgres) * 1e6) / events,
  };
}

/** A key of its own for each run: the limit of batches is one of keys. */
function overHttp(key: string): Promise<Measured> {
  const target = { port: system.api.port, headers: { 'x-api-key': key } };
  return measured(
    () => cpuSeconds(system.api.pid),
    async () =>
      (await load(target, batchRequest, { connections: PARALLEL, seconds: SECONDS })).requests * BATCH,
  );
}

function batchRequest(): LoadRequest {
  const events = Array.from({ length: BATCH }, () => {
    serial += 1;
    const person = 1 + ((serial * 7_919) % PEOPLE);
    return {
      email: `reader-${person}@example.com`,
      name: 'order',
      properties: propertiesOf(serial),
      uniqueId: `${run}-${serial}`,
    };
  });
  return {
    method: 'POST',
    path: '/api/v1/subscriber-events/batch',
    body: JSON.stringify({ events }),
    status: 202,
  };
}

function propertiesOf(number: number): object {
  return {
    total: number % 200,
    currency: 'EUR',
    items: [{ sku: `A${number % 50}`, quantity: 1 + (number % 3) }],
  };
}

async function bare(environmentId: number): Promise<Measured> {
  const pool = new pg.Pool({ connectionString: server.database.adminUrl, max: PARALLEL });
  const [person] = await system.database.query<{ id: string }>(
    'select id from audience.subscribers where environment_id = $1 limit 1',
    [environmentId],
  );
  const own = () => {
    const { user, system: kernel } = process.cpuUsage();
    return (user + kernel) / 1e6;
  };
  try {
    return await measured(own, async () => {
      const end = performance.now() + SECONDS * 1_000;
      let events = 0;
      const writer = async () => {
        while (performance.now() < end) {
          const properties = Array.from({ length: BATCH }, () => JSON.stringify(propertiesOf((serial += 1))));
          await pool.query(
            `insert into audience.subscriber_events (id, occurred_at, environment_id, subscriber_id, name, properties, created_at)
             select gen_random_uuid(), now(), $1, $2, 'order', p::jsonb, now() from unnest($3::text[]) p`,
            [environmentId, person?.id, properties],
          );
          events += BATCH;
        }
      };
      await Promise.all(Array.from({ length: PARALLEL }, writer));
      return events;
    });
  } finally {
    await pool.end();
  }
}
