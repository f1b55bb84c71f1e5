import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '#kernel';
import { migrate, TrackingTokens } from '#platform';
import { startPostgres } from '#platform/embedded-postgres';
import { createTestDatabase, type TestDatabase } from '../test/support/database.js';
import { eventually } from '../test/support/eventually.js';
import { startProgram } from '../test/support/program.js';
import { prepareProject, SECRETS } from '../test/support/system.js';
import { load } from './http-load.js';

/** Click redirects: the built api against bare Fastify, then 5 000 clicks a second of which none may be lost. */
const PAIRS = Number(process.env['PAIRS'] ?? 5);
const SECONDS = Number(process.env['SECONDS'] ?? 3);
const CONNECTIONS = 50;
const DELIVERIES = 20_000;
const LINKS = 12;
const STEADY_RATE = 5_000;
const STEADY_SECONDS = 10;
/** USER_HZ of Linux, in which /proc counts a process's time. */
const TICKS_A_SECOND = 100;

interface Server {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
}

interface Measurement {
  readonly answers: number;
  readonly perSecond: number;
  readonly cpuMicroseconds: number;
}

async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

async function peakMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024);
}

async function measure({ name, pid, port }: Server, nextPath: () => string): Promise<Measurement> {
  const before = await cpuSeconds(pid);
  const { answers, errors, seconds } = await load({
    port,
    connections: CONNECTIONS,
    seconds: SECONDS,
    nextPath,
  });
  if (errors > 0) throw new Error(`${name} answered ${errors} requests with something else than a redirect.`);
  const cpu = (await cpuSeconds(pid)) - before;
  return { answers, perSecond: answers / seconds, cpuMicroseconds: (cpu / answers) * 1e6 };
}

/** A sent campaign with its link set; the paths of its mails' links. */
async function prepareClicks(
  database: TestDatabase,
): Promise<{ nextPath: () => string; campaignId: string }> {
  const { environmentId } = (await prepareProject(database, '')).live;
  const campaignId = newId();
  const urls = Array.from(
    { length: LINKS },
    (_, index) => `https://acme.example/news/${index}?utm_source=mail`,
  );
  const tokens = new TrackingTokens(SECRETS.TOKEN_SECRET);
  const [day] = await database.query<{ today: string }>(
    `select (now() at time zone 'UTC')::date::text as today`,
  );
  const queuedOn = day!.today;
  const signature = tokens.signTargets(`${environmentId}/${campaignId}/${queuedOn}`, urls);
  const [set] = await database.query<{ id: string }>(
    `insert into messaging.link_sets (environment_id, campaign_id, queued_on, urls, signature, created_at)
     values ($1, $2, $3, $4, $5, now()) returning id`,
    [environmentId, campaignId, queuedOn, urls, signature],
  );
  const deliveries = await database.query<{ id: string }>(
    `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key,
       message_id, state, next_attempt_at, sent_at, created_at, finished_at)
     select platform.new_id(), $1, $2, 'CAMPAIGN', $3, platform.new_id(), 'r' || n || '@example.com', 'r' || n || '@example.com',
       '<' || n || '@example.com>', 'SENT', now(), now() - interval '1 hour', now(), now()
     from generate_series(1, $4::int) n returning id`,
    [queuedOn, environmentId, campaignId, DELIVERIES],
  );
  const paths = deliveries.flatMap(({ id }) =>
    tokens
      .sign({ environmentId, linkSet: Number(set!.id), deliveryId: id }, LINKS + 1)
      .slice(1)
      .map((token) => `/l/${token}`),
  );
  let clicks = 0;
  // From one mail to the next, as it is when many people read: three links of a mail in a second are a scanner's.
  const nextPath = () => {
    const path =
      paths[((clicks % DELIVERIES) * LINKS + (Math.floor(clicks / DELIVERIES) % LINKS)) % paths.length] ?? '';
    clicks += 1;
    return path;
  };
  return { nextPath, campaignId };
}

async function startReference(): Promise<Server & { stop: () => Promise<void> }> {
  const child = fork(new URL('./redirect-reference.js', import.meta.url));
  const [message] = (await once(child, 'message')) as [{ port: number }];
  const stop = async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  return { name: 'bare Fastify', pid: child.pid ?? 0, port: message.port, stop };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function line(name: string, values: readonly number[], digits = 0): string {
  const shown = [median(values), Math.min(...values), Math.max(...values)].map((value) =>
    value.toFixed(digits),
  );
  return `${name.padEnd(44)} median ${shown[0]}   min ${shown[1]}   max ${shown[2]}`;
}

async function compare(ours: Clicks, reference: Server): Promise<void> {
  const measureOurs = async () => {
    const measurement = await measure(ours.api, ours.nextPath);
    ours.answered += measurement.answers;
    await ours.written();
    return measurement;
  };
  await measure(reference, ours.nextPath);
  await measureOurs();
  const pairs: { ours: Measurement; reference: Measurement }[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    pairs.push({ reference: await measure(reference, ours.nextPath), ours: await measureOurs() });
  }
  const print = (text: string) => process.stdout.write(`${text}\n`);
  print(
    line(
      'redirects/s, bare Fastify',
      pairs.map((pair) => pair.reference.perSecond),
    ),
  );
  print(
    line(
      'redirects/s, api',
      pairs.map((pair) => pair.ours.perSecond),
    ),
  );
  print(
    line(
      'ratio (goal: 0.5 or more)',
      pairs.map((pair) => pair.ours.perSecond / pair.reference.perSecond),
      2,
    ),
  );
  print(
    line(
      'CPU per redirect, bare Fastify, µs',
      pairs.map((pair) => pair.reference.cpuMicroseconds),
    ),
  );
  print(
    line(
      'CPU per redirect, api, µs',
      pairs.map((pair) => pair.ours.cpuMicroseconds),
    ),
  );
}

async function steady(ours: Clicks): Promise<void> {
  const { answers, errors, seconds } = await load({
    port: ours.api.port,
    connections: CONNECTIONS,
    seconds: STEADY_SECONDS,
    rate: STEADY_RATE,
    nextPath: ours.nextPath,
  });
  ours.answered += answers;
  const begin = performance.now();
  await ours.written();
  process.stdout.write(
    `${STEADY_RATE} clicks/s for ${STEADY_SECONDS} s: ${answers} answered in ${seconds.toFixed(1)} s, ${errors} errors, ` +
      `all written ${Math.round(performance.now() - begin)} ms after the last\n`,
  );
}

/** The api and what was asked of it. */
class Clicks {
  answered = 0;

  constructor(
    readonly api: Server,
    readonly nextPath: () => string,
    private readonly database: TestDatabase,
  ) {}

  /** Resolves when each click that was answered is a row; throws when one is lost. */
  async written(): Promise<void> {
    await eventually(
      `all of ${this.answered} clicks are written`,
      async () => {
        const [row] = await this.database.query<{ n: string }>(
          `select count(*) as n from messaging.delivery_events`,
        );
        // Requests that were on the wire when the time was over are written and not counted.
        return Number(row?.n) >= this.answered;
      },
      120_000,
    );
  }
}

async function main(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'mailwright-bench-'));
  await chmod(directory, 0o711);
  const postgres = await startPostgres({ directory: join(directory, 'postgres') });
  await postgres.ensureDatabase('mailwright_template');
  await migrate(postgres.url('mailwright_template'));
  process.env['MAILWRIGHT_TEST_POSTGRES'] = postgres.url('').replace(/\/$/, '');
  const database = await createTestDatabase();
  const { nextPath, campaignId } = await prepareClicks(database);
  const api = await startProgram('api', { DATABASE_URL: database.url, ...SECRETS });
  const reference = await startReference();
  const ours = { name: 'api', pid: api.pid, port: api.port };
  try {
    const clicks = new Clicks(ours, nextPath, database);
    await compare(clicks, reference);
    await steady(clicks);
    process.stdout.write(`peak memory of the api: ${await peakMegabytes(api.pid)} MB\n`);
    const rows = await database.query<{ counted: string; actual: string }>(
      `select (select sum(clicked) from messaging.campaign_counters where campaign_id = $1) as counted,
         (select count(*) from messaging.delivery_events where campaign_id = $1 and classification = 'human') as actual`,
      [campaignId],
    );
    process.stdout.write(`counters: ${rows[0]?.counted}, events: ${rows[0]?.actual}\n`);
  } finally {
    await Promise.all([api.stop(), reference.stop()]);
    await database.drop();
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

await main();
