import { fork } from 'node:child_process';
import { once } from 'node:events';
import { startProgram } from '#testing/programs/program';
import { SECRETS } from '#testing/programs/system';
import { type BenchServer, startBenchServer } from './support/bench-server.js';
import { median } from './support/figures.js';
import { load, type LoadRequest } from './support/http-load.js';
import { cpuSeconds, mainThreadCpuSeconds, memoryMb, treeCpuSeconds } from './support/process-usage.js';
import { Clicks, type ClickServer, prepareClicks } from './support/tracked-clicks.js';

/** Click redirects: the built api against bare Fastify, then 5 000 clicks a second of which none may be lost. */
const PAIRS = Number(process.env['PAIRS'] ?? 5);
const SECONDS = Number(process.env['SECONDS'] ?? 3);
const CONNECTIONS = 50;
const STEADY_RATE = 5_000;
const STEADY_SECONDS = 10;
const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101' };
const clicksOf = (nextPath: () => string) => (): LoadRequest => ({
  method: 'GET',
  path: nextPath(),
  status: 302,
});

/** CPU time used so far, in seconds, by each process that takes part while redirects are asked for. */
interface Usage {
  /** The process that answers, and of that its main thread. */
  readonly server: number;
  readonly mainThread: number;
  readonly postgres: number;
  /** This process, which asks. */
  readonly load: number;
}

interface Measurement {
  readonly answers: number;
  readonly perSecond: number;
  /** µs a redirect, while they were asked for. */
  readonly usage: Usage;
}

class Machine {
  constructor(private readonly postgresPid: number) {}

  async measure({ pid, port }: ClickServer, nextPath: () => string): Promise<Measurement> {
    const before = this.#usage(pid);
    const { requests: answers, seconds } = await load({ port, headers: BROWSER }, clicksOf(nextPath), {
      connections: CONNECTIONS,
      seconds: SECONDS,
    });
    const after = this.#usage(pid);
    const each = (of: keyof Usage) => ((after[of] - before[of]) / answers) * 1e6;
    const usage = {
      server: each('server'),
      mainThread: each('mainThread'),
      postgres: each('postgres'),
      load: each('load'),
    };
    return { answers, perSecond: answers / seconds, usage };
  }

  postgresSeconds(): number {
    return treeCpuSeconds(this.postgresPid);
  }

  #usage(pid: number): Usage {
    return {
      server: cpuSeconds(pid),
      mainThread: mainThreadCpuSeconds(pid),
      postgres: this.postgresSeconds(),
      load: cpuSeconds(process.pid),
    };
  }
}

async function startReference(): Promise<ClickServer & { stop: () => Promise<void> }> {
  const child = fork(new URL('./redirect-reference.js', import.meta.url));
  const [message] = (await once(child, 'message')) as [{ port: number }];
  const stop = async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  return { name: 'bare Fastify', pid: child.pid ?? 0, port: message.port, stop };
}

function print(name: string, values: readonly number[], digits = 0): void {
  const shown = [median(values), Math.min(...values), Math.max(...values)].map((value) =>
    value.toFixed(digits),
  );
  process.stdout.write(`${name.padEnd(44)} median ${shown[0]}   min ${shown[1]}   max ${shown[2]}\n`);
}

async function compare(ours: Clicks, reference: ClickServer, machine: Machine): Promise<void> {
  const written: number[] = [];
  const measureOurs = async () => {
    const before = machine.postgresSeconds();
    const measurement = await machine.measure(ours.api, ours.nextPath);
    ours.answered += measurement.answers;
    await ours.written();
    written.push(((machine.postgresSeconds() - before) / measurement.answers) * 1e6);
    return measurement;
  };
  await machine.measure(reference, ours.nextPath);
  await measureOurs();
  written.length = 0;
  const pairs: { ours: Measurement; reference: Measurement }[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    pairs.push({ reference: await machine.measure(reference, ours.nextPath), ours: await measureOurs() });
  }
  const of = (which: 'ours' | 'reference', what: (measurement: Measurement) => number) =>
    pairs.map((pair) => what(pair[which]));
  print(
    'redirects/s, bare Fastify',
    of('reference', ({ perSecond }) => perSecond),
  );
  print(
    'redirects/s, api',
    of('ours', ({ perSecond }) => perSecond),
  );
  print(
    'ratio (goal: 0.5 or more)',
    pairs.map((pair) => pair.ours.perSecond / pair.reference.perSecond),
    2,
  );
  for (const which of ['reference', 'ours'] as const) {
    const name = which === 'ours' ? 'api' : 'bare Fastify';
    const cpu = (what: (usage: Usage) => number) => of(which, ({ usage }) => what(usage));
    print(
      `CPU per redirect, ${name}, µs`,
      cpu(({ server }) => server),
      1,
    );
    print(
      `  its main thread alone`,
      cpu(({ mainThread }) => mainThread),
      1,
    );
    print(
      `  PostgreSQL meanwhile`,
      cpu(({ postgres }) => postgres),
      1,
    );
    print(
      `  who asks`,
      cpu(({ load: asking }) => asking),
      1,
    );
  }
  print('CPU of PostgreSQL per click written, µs', written, 1);
}

async function steady(ours: Clicks, machine: Machine, server: BenchServer): Promise<void> {
  const wal = await server.walBytes();
  const usage = () => [cpuSeconds(ours.api.pid), machine.postgresSeconds()] as const;
  const before = usage();
  const target = { port: ours.api.port, headers: BROWSER };
  const { requests: answers, seconds } = await load(target, clicksOf(ours.nextPath), {
    connections: CONNECTIONS,
    seconds: STEADY_SECONDS,
    rate: STEADY_RATE,
  });
  ours.answered += answers;
  const begin = performance.now();
  await ours.written();
  const late = Math.round(performance.now() - begin);
  const [api, postgres] = usage().map((now, index) => (((now - before[index]!) / answers) * 1e6).toFixed(1));
  const bytes = (((await server.walBytes()) - wal) / answers).toFixed(0);
  process.stdout.write(
    `${STEADY_RATE} clicks/s for ${STEADY_SECONDS} s: ${answers} answered in ${seconds.toFixed(1)} s, ` +
      `all written ${late} ms after the last; µs of CPU a click: api ${api}, PostgreSQL ${postgres}; bytes of WAL a click: ${bytes}\n`,
  );
}

async function main(): Promise<void> {
  const server = await startBenchServer();
  const { database } = server;
  const { nextPath, campaignId } = await prepareClicks(database);
  const api = await startProgram('api', { DATABASE_URL: database.url, ...SECRETS });
  const reference = await startReference();
  const machine = new Machine(server.pid);
  try {
    const clicks = new Clicks({ name: 'api', pid: api.pid, port: api.port }, nextPath, database);
    await compare(clicks, reference, machine);
    await steady(clicks, machine, server);
    process.stdout.write(`peak memory of the api: ${memoryMb(api.pid).peak} MB\n`);
    const rows = await database.query<{ counted: string; actual: string; events: string }>(
      `select (select sum(clicked) from messaging.campaign_counters where campaign_id = $1) as counted,
         (select count(*) from messaging.delivery_events where campaign_id = $1 and classification = 'human') as actual,
         (select count(*) from messaging.delivery_events) as events`,
      [campaignId],
    );
    process.stdout.write(
      `counters: ${rows[0]?.counted}, people's events: ${rows[0]?.actual} of ${rows[0]?.events}\n`,
    );
  } finally {
    await Promise.all([api.stop(), reference.stop()]);
    await database.drop();
    await server.stop();
  }
}

await main();
