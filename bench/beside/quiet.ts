import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { startProgram } from '#testing/programs/program';
import { startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { prepareProject, startSystemOn, type RunningSystem } from '#testing/programs/system';
import { type BenchServer, startBenchServer } from '../support/bench-server.js';
import { type Comparison, type Measured, shown } from '../support/comparison.js';
import { spread } from '../support/figures.js';
import { treeCpuSeconds } from '../support/process-usage.js';
import { startSinkProcess } from '../support/sink-process.js';
import { StatementCounts } from '../support/statement-counts.js';

const CAMPAIGNS_EACH = 8;
const PEOPLE_EACH = 20;
const AT_ONCE = 4;
/** PostgreSQL's default of 100 is too little for two workers and an api. */
const MAX_CONNECTIONS = 200;
const DEADLINE_MS = 1_800_000;

export interface QuietOptions {
  readonly recipients: number;
  /** Quiet campaigns, of a tenant for each eight. */
  readonly quiet: number;
  readonly pairs: number;
  readonly connections: string;
}

/** Project relays that keep a tenant's mails waiting, by the reason of the wait. */
const WAITS = {
  deferral: (ports: Ports) => ({ port: ports.deferring }),
  throttle: (ports: Ports) => ({ port: ports.taking, ratePerSecond: 0.001 }),
  'dead relay': (ports: Ports) => ({ port: ports.dead }),
} as const;

interface Ports {
  readonly deferring: number;
  readonly taking: number;
  readonly dead: number;
}

interface QuietTenant {
  readonly client: ApiClient;
  readonly campaigns: readonly string[];
}

/**
 * A campaign beside quiet ones of other tenants, all made through the API, whose people wait for a relay of their own that defers
 * them, lets hardly any through, or is dead; with two workers. `theirs` is the same campaign while the quiet ones are paused.
 */
export async function compareQuietCampaigns(options: QuietOptions): Promise<Comparison> {
  const counts = new StatementCounts();
  const server = await startBenchServer((line) => counts.add(line), MAX_CONNECTIONS);
  const sink = await startSinkProcess();
  const deferring = await startRawSmtpSink({ keep: 'index' });
  deferring.behave({ at: 'rcpt', action: { reply: '451 4.7.1 Try again later' } });
  const taking = await startRawSmtpSink({ keep: 'index' });
  const system = await startSystemOn(server.database, {
    SMTP_URL: sink.url,
    SMTP_CONNECTIONS: options.connections,
    REQUIRE_VERIFIED_DOMAIN: 'false',
    OUTGOING_PRIVATE_ADDRESSES: 'true',
  });
  const second = await startProgram('worker', system.variables);
  const ports = { deferring: deferring.port, taking: taking.port, dead: await freePort() };
  try {
    const busy = await Busy.prepare(system, second.pid, server, options.recipients);
    const tenants = await quietTenants(system, ports, options.quiet);
    await server.database.query('analyze');
    return await comparison(busy, tenants, counts, options.pairs);
  } finally {
    await second.stop();
    await system.stop();
    await Promise.all([sink.stop(), deferring.stop(), taking.stop()]);
    await server.stop();
  }
}

async function comparison(
  busy: Busy,
  tenants: readonly QuietTenant[],
  counts: StatementCounts,
  pairs: number,
): Promise<Comparison> {
  const measured: { theirs: BusyMeasured; ours: BusyMeasured }[] = [];
  for (let pair = 0; pair <= pairs; pair += 1) {
    await settled(busy, tenants, 'resume');
    const ours = await busy.send();
    await settled(busy, tenants, 'pause');
    const theirs = await busy.send();
    if (pair > 0) measured.push({ theirs, ours });
  }
  const transactions = spread(measured.map(({ ours, theirs }) => ours.transactions / theirs.transactions));
  process.stdout.write(`beside quiet campaigns, ratio of transactions: ${transactions}\n`);
  const rows = spread(measured.map(({ ours, theirs }) => ours.rows / theirs.rows));
  process.stdout.write(`beside quiet campaigns, ratio of rows read: ${rows}\n`);
  // Logging costs too much of the time that is measured above.
  const without = await counts.during(busy.database, () => busy.send());
  await control(tenants, 'resume');
  const beside = await counts.during(busy.database, () => busy.send());
  process.stdout.write(
    `beside quiet campaigns, statements of a campaign: ${beside} against ${without}, ratio ${(beside / without).toFixed(2)}\n`,
  );
  return shown({
    operation: 'mails beside quiet campaigns (reference: without)',
    goals: [
      { of: 'rate', least: 0.95 },
      { of: 'cpu', most: 1.05 },
    ],
    pairs: measured,
  });
}

/** Resuming hundreds of campaigns at once is work of its own: a campaign that nobody measures comes after it. */
async function settled(
  busy: Busy,
  tenants: readonly QuietTenant[],
  action: 'pause' | 'resume',
): Promise<void> {
  await control(tenants, action);
  await busy.send();
}

interface BusyMeasured extends Measured {
  /** Transactions and rows of the whole campaign. */
  readonly transactions: number;
  readonly rows: number;
}

/** The campaign that has people to send to. */
class Busy {
  private constructor(
    private readonly system: RunningSystem,
    private readonly secondPid: number,
    private readonly server: BenchServer,
    private readonly recipients: number,
    private readonly client: ApiClient,
    private readonly topicId: string,
  ) {}

  static async prepare(
    system: RunningSystem,
    secondPid: number,
    server: BenchServer,
    recipients: number,
  ): Promise<Busy> {
    const project = await system.project();
    await system.database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
    const client = await project.client('LIVE');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    await insertSubscribers(system.database, project.live, topic.at('id'), recipients);
    return new Busy(system, secondPid, server, recipients, client, topic.at('id'));
  }

  get database() {
    return this.system.database;
  }

  async send(): Promise<BusyMeasured> {
    const [before, began] = [await this.#usage(), performance.now()];
    await sendCampaign(this.client, this.topicId, 'SENT');
    const seconds = (performance.now() - began) / 1_000;
    const after = await this.#usage();
    const used = (of: keyof typeof before) => after[of] - before[of];
    return {
      perSecond: this.recipients / seconds,
      app: (used('app') * 1_000) / this.recipients,
      postgres: (used('postgres') * 1_000) / this.recipients,
      transactions: used('transactions'),
      rows: used('rows'),
    };
  }

  async #usage() {
    const [row] = await this.database.query<{ transactions: number; rows: number }>(
      `select (xact_commit + xact_rollback)::float8 as transactions, (tup_returned + tup_fetched)::float8 as rows
       from pg_stat_database where datname = current_database()`,
    );
    const programs = [this.system.worker.pid, this.secondPid, this.system.api.pid];
    return {
      app: programs.reduce((sum, pid) => sum + treeCpuSeconds(pid), 0),
      postgres: treeCpuSeconds(this.server.pid),
      transactions: row?.transactions ?? 0,
      rows: row?.rows ?? 0,
    };
  }
}

async function quietTenants(system: RunningSystem, ports: Ports, quiet: number): Promise<QuietTenant[]> {
  const waits = Object.entries(WAITS);
  const tenants: QuietTenant[] = [];
  const count = Math.ceil(quiet / CAMPAIGNS_EACH);
  const next = Array.from({ length: count }, (_, n) => n).values();
  const make = async () => {
    for (const n of next) {
      const [name, relayOf] = waits[n % waits.length]!;
      tenants.push(await quietTenant(system, `${name} ${n}`, relayOf(ports)));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, make));
  await eventually(
    'all people of quiet campaigns wait',
    async () => {
      const [row] = await system.database.query<{ n: number }>(
        `select count(*)::int as n from messaging.deliveries d join messaging.campaigns c on c.id = d.source_id and c.environment_id = d.environment_id
         where c.name = 'Quiet' and d.state <> 'SENT' and (d.next_attempt_at > now() or d.attempt > 0 or c.expanded_at is not null)`,
      );
      return (row?.n ?? 0) >= count * CAMPAIGNS_EACH * (PEOPLE_EACH - 1);
    },
    DEADLINE_MS,
  );
  const states = await system.database.query<{ state: string; n: number }>(
    `select d.state, count(*)::int as n from messaging.deliveries d join messaging.campaigns c on c.id = d.source_id and c.environment_id = d.environment_id
     where c.name = 'Quiet' group by 1 order by 1`,
  );
  const told = states.map(({ state, n }) => `${n} ${state}`).join(', ');
  process.stdout.write(`${count * CAMPAIGNS_EACH} quiet campaigns of ${count} tenants: ${told}\n`);
  return tenants;
}

async function quietTenant(system: RunningSystem, name: string, relay: object): Promise<QuietTenant> {
  const project = await prepareProject(system.database, system.baseUrl, 'QUIET');
  await system.database.query(`update billing.subscriptions set plan_tier = 'PRO' where tenant_id = $1`, [
    project.live.tenantId,
  ]);
  const client = await project.client('LIVE');
  const made = await client.post('/relays', {
    name,
    kind: 'SMTP',
    host: '127.0.0.1',
    tls: 'OPPORTUNISTIC',
    ...relay,
  });
  if (made.status !== 201) throw new Error(made.text);
  const topic = await client.post('/topics', { name: 'Quiet', doubleOptInEnabled: false });
  await insertSubscribers(system.database, project.live, topic.at('id'), PEOPLE_EACH);
  const campaigns: string[] = [];
  for (let n = 0; n < CAMPAIGNS_EACH; n += 1)
    campaigns.push(await sendCampaign(client, topic.at('id'), 'SENDING', 'Quiet'));
  return { client, campaigns };
}

/** Resolves to its key when it has come to a status. */
async function sendCampaign(
  client: ApiClient,
  topicId: string,
  until: 'SENDING' | 'SENT',
  name = 'Busy',
): Promise<string> {
  const created = await client.post('/campaigns', {
    name,
    subject: 'News, {{ subscriber.first_name }}',
    contentText: 'Hello {{ subscriber.first_name }}, here is the news.',
    topicIds: [topicId],
  });
  const key: string = created.at('campaignKey');
  await eventually('it is queued', async () => {
    const queued = await client.post(`/campaigns/${key}/send`);
    // The server is busy: a client asks again.
    if (queued.status !== 200 && queued.status !== 503) throw new Error(queued.text);
    return queued.status === 200;
  });
  while ((await client.get(`/campaigns/${key}`)).at('status') !== until) await delay(50);
  return key;
}

async function control(tenants: readonly QuietTenant[], action: 'pause' | 'resume'): Promise<void> {
  const from = action === 'pause' ? 'SENDING' : 'PAUSED';
  const left = tenants.values();
  const turn = async () => {
    for (const { client, campaigns } of left)
      for (const key of campaigns) {
        if ((await client.get(`/campaigns/${key}`)).at('status') !== from) continue;
        const answer = await client.post(`/campaigns/${key}/${action}`);
        if (answer.status >= 300) throw new Error(answer.text);
      }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, turn));
}
