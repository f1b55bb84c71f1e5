import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ApiClient } from '#testing/http/api-client';
import { rsaKey } from '#testing/mail/dkim-keys';
import { eventually } from '#testing/time/eventually';
import { insertSendingDomain } from '#testing/fixtures/sending-domain';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { startSystemOn } from '#testing/programs/system';
import { startBenchServer } from './support/bench-server.js';
import { spread } from './support/figures.js';
import { cpuSeconds, memoryMb, treeCpuSeconds } from './support/process-usage.js';
import { signaturesPerSecond } from './support/signatures.js';
import { startSinkProcess } from './support/sink-process.js';

/**
 * A campaign from subscribers in PostgreSQL to a sink on loopback, everything durable, against nodemailer's
 * pool sending one of the same mails, ready-made, over as many connections to the same sink. Then the same from a domain
 * with DKIM, against the signatures with RSA-2048 that all cores of the machine make.
 */
const RECIPIENTS = Number(process.env['RECIPIENTS'] ?? 50_000);
const PAIRS = Number(process.env['PAIRS'] ?? 5);
const CONNECTIONS = process.env['CONNECTIONS'] ?? '100';

const run = promisify(execFile);
const SIGNED_PAIRS = Number(process.env['SIGNED_PAIRS'] ?? 3);
/** Number of pairs that compare two project relays, each with half of the connections, with the default relay, in turn. */
const RELAYED_PAIRS = Number(process.env['RELAYED_PAIRS'] ?? 0);
const DOMAIN = 'mail.acme.example';
/** A mail of 10 KB with ten variables and twelve tracked links. */
const contentJson = JSON.stringify({
  blocks: [
    { type: 'heading', level: 1, text: 'News for {{ subscriber.first_name | default: "you" }}' },
    {
      type: 'text',
      html: Array.from(
        { length: 9 },
        (_, part) =>
          `<p>{{ subscriber.first_name }}, here is <a href="https://example.com/news/${part}">part ${part}</a>.</p>`,
      ).join(''),
    },
    {
      type: 'text',
      html: ['Shop', 'Answer', 'Read on']
        .map((label, place) => `<a href="https://example.com/${place}">${label}</a> `)
        .join(''),
    },
  ],
});

interface Measured {
  readonly perSecond: number;
  readonly cpuMsPerMail: number;
  /** CPU time of the other programs meanwhile, ms a mail. */
  readonly postgres: number;
  readonly sink: number;
  /** Bytes a mail. */
  readonly wal: number;
}

/** CPU seconds so far of everything that takes part, and bytes of WAL. */
const usage = async () => ({
  wal: await server.walBytes(),
  at: performance.now(),
  worker: cpuSeconds(system.worker.pid),
  postgres: treeCpuSeconds(server.pid),
  sink: cpuSeconds(sink.pid),
});

const rsa = rsaKey('mw1');
const server = await startBenchServer();
const sink = await startSinkProcess();
const { database } = server;
const system = await startSystemOn(database, {
  SMTP_URL: sink.url,
  SMTP_CONNECTIONS: CONNECTIONS,
  REQUIRE_VERIFIED_DOMAIN: 'false',
  OUTGOING_PRIVATE_ADDRESSES: 'true',
  // To see what asking for budgets costs: a limit that is never reached.
  THROTTLE_DOMAIN_RATE: process.env['THROTTLE_DOMAIN_RATE'] ?? '',
  // To look where the time goes: `NODE_OPTIONS_OF_PROGRAMS='--cpu-prof --cpu-prof-dir=…'`.
  NODE_OPTIONS: process.env['NODE_OPTIONS_OF_PROGRAMS'] ?? '',
});

try {
  const project = await system.project();
  await database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
  const client = await project.client('LIVE');
  const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
  await insertSubscribers(database, project.live, topic.at('id'), RECIPIENTS);
  const sample = await sampleMail(await project.client('TEST'));
  process.stdout.write(
    `${RECIPIENTS} recipients, a mail of ${sample.length} bytes, ${CONNECTIONS} connections\n`,
  );
  const rest = [memoryMb(system.api.pid).now, memoryMb(system.worker.pid).now];
  process.stdout.write(`at rest: api ${rest[0]} MB, worker ${rest[1]} MB\n`);
  const pairs: { ours: Measured; reference: Measured }[] = [];
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const ours = await sendCampaign(client, topic.at('id'));
    const reference = await sendReference(sample);
    process.stdout.write(`pair ${pair}: ${ours.perSecond.toFixed(0)} / ${reference.perSecond.toFixed(0)}\n`);
    if (pair > 0) pairs.push({ ours, reference });
  }
  const table = (pick: (measured: Measured) => number) =>
    [spread(pairs.map(({ ours }) => pick(ours))), spread(pairs.map(({ reference }) => pick(reference)))].join(
      ' against ',
    );
  process.stdout.write(`mails/s: ${table(({ perSecond }) => perSecond)}\n`);
  process.stdout.write(`CPU ms a mail (worker, program): ${table(({ cpuMsPerMail }) => cpuMsPerMail)}\n`);
  process.stdout.write(`CPU ms a mail (PostgreSQL): ${table(({ postgres: cpu }) => cpu)}\n`);
  process.stdout.write(
    `WAL, bytes a mail: ${spread(
      pairs.map(({ ours }) => ours.wal),
      0,
    )}\n`,
  );
  process.stdout.write(`CPU ms a mail (sink): ${table(({ sink: cpu }) => cpu)}\n`);
  process.stdout.write(
    `ratio: ${spread(pairs.map(({ ours, reference }) => ours.perSecond / reference.perSecond))}\n`,
  );
  if (RELAYED_PAIRS > 0) await compareRelays(client, topic.at('id'));
  await insertSendingDomain(database, project.live, { domainName: DOMAIN, keys: [rsa] });
  const signed: number[] = [];
  for (let pair = 0; pair < SIGNED_PAIRS; pair += 1) {
    const ours = await sendCampaign(client, topic.at('id'));
    const bare = await signaturesPerSecond(rsa);
    process.stdout.write(`signed ${pair}: ${ours.perSecond.toFixed(0)} / ${bare.toFixed(0)} signatures\n`);
    signed.push(ours.perSecond / bare);
  }
  process.stdout.write(`ratio, signed: ${spread(signed)}\n`);
  process.stdout.write(
    `worker memory: at most ${memoryMb(system.worker.pid).peak} MB, api ${memoryMb(system.api.pid).peak} MB\n`,
  );
} finally {
  await system.stop();
  await sink.stop();
  await server.stop();
}

async function compareRelays(client: ApiClient, topicId: string): Promise<void> {
  const project = await system.project('RELAYS');
  await database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
  const relayed = await project.client('LIVE');
  const topic = await relayed.post('/topics', { name: 'News', doubleOptInEnabled: false });
  await insertSubscribers(database, project.live, topic.at('id'), RECIPIENTS);
  const sinks = [await startSinkProcess(), await startSinkProcess()];
  for (const [place, { url }] of sinks.entries()) {
    const created = await relayed.post('/relays', {
      name: `Relay ${place + 1}`,
      kind: 'SMTP',
      host: '127.0.0.1',
      port: Number(new URL(url).port),
      tls: 'OPPORTUNISTIC',
      connections: Number(CONNECTIONS) / sinks.length,
    });
    if (created.status !== 201) throw new Error(created.text);
  }
  const pairs: { own: Measured; installation: Measured }[] = [];
  for (let pair = 0; pair <= RELAYED_PAIRS; pair += 1) {
    const own = await sendCampaign(relayed, topic.at('id'));
    const installation = await sendCampaign(client, topicId);
    if (pair > 0) pairs.push({ own, installation });
  }
  for (const [part, name] of [
    ['perSecond', 'mails/s'],
    ['cpuMsPerMail', 'CPU ms a mail (worker)'],
    ['postgres', 'CPU ms a mail (PostgreSQL)'],
  ] as const)
    process.stdout.write(
      `own relays, ${name}: ${spread(pairs.map(({ own }) => own[part]))} against ${spread(pairs.map(({ installation }) => installation[part]))}\n`,
    );
  for (const each of sinks) await each.stop();
}

async function sendCampaign(client: ApiClient, topicId: string): Promise<Measured> {
  const created = await client.post('/campaigns', {
    name: 'Bench',
    subject: 'News, {{ subscriber.first_name }}',
    contentJson,
    topicIds: [topicId],
  });
  const key = created.at('campaignKey');
  const before = await usage();
  const queued = await client.post(`/campaigns/${key}/send`);
  if (queued.status !== 200) throw new Error(queued.text);
  // Seldom: each look takes CPU from what is measured.
  while ((await client.get(`/campaigns/${key}`)).at('status') !== 'SENT') await delay(100);
  const after = await usage();
  const each = (part: 'worker' | 'postgres' | 'sink') => ((after[part] - before[part]) * 1_000) / RECIPIENTS;
  return {
    perSecond: (RECIPIENTS * 1_000) / (after.at - before.at),
    cpuMsPerMail: each('worker'),
    postgres: each('postgres'),
    sink: each('sink'),
    wal: (after.wal - before.wal) / RECIPIENTS,
  };
}

async function sendReference(raw: Buffer): Promise<Measured> {
  const sinkBefore = cpuSeconds(sink.pid);
  const program = fileURLToPath(new URL('reference/nodemailer-pool.js', import.meta.url));
  const { stdout } = await run(process.execPath, [
    program,
    sink.url,
    String(RECIPIENTS),
    CONNECTIONS,
    raw.toString('base64'),
  ]);
  const { seconds, cpuSeconds: cpu } = JSON.parse(stdout) as { seconds: number; cpuSeconds: number };
  const sinkCpu = ((cpuSeconds(sink.pid) - sinkBefore) * 1_000) / RECIPIENTS;
  return {
    perSecond: RECIPIENTS / seconds,
    cpuMsPerMail: (cpu * 1_000) / RECIPIENTS,
    postgres: 0,
    sink: sinkCpu,
    wal: 0,
  };
}

/** One mail of the campaign, as the test environment keeps it. */
async function sampleMail(client: ApiClient): Promise<Buffer> {
  const topic = await client.post('/topics', { name: 'Sample', doubleOptInEnabled: false });
  await client.post('/subscribers', {
    email: 'ada@example.com',
    firstName: 'Ada',
    topicKeys: [topic.at('topicKey')],
    consent: { source: 'bench' },
  });
  await sendCampaignTo(client, topic.at('id'));
  const inbox = await eventually('the sample is there', async () => {
    const list = await client.get('/test-inbox/messages?kind=CAMPAIGN');
    return list.at<unknown[]>('data').length > 0 ? list : null;
  });
  return Buffer.from((await client.get(`/test-inbox/messages/${inbox.at('data', 0, 'id')}/raw`)).text);
}

async function sendCampaignTo(client: ApiClient, topicId: string): Promise<void> {
  const created = await client.post('/campaigns', {
    name: 'Sample',
    subject: 'News',
    contentJson,
    topicIds: [topicId],
  });
  await client.post(`/campaigns/${created.at('campaignKey')}/send`);
}
