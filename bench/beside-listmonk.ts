import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startPostgres } from '#platform/embedded-postgres';
import { migrate } from '../libs/platform/src/database/migrations.js';
import type { ApiClient } from '#testing/api-client';
import { openTestDatabase } from '#testing/database';
import { eventually } from '#testing/eventually';
import { executable } from '#testing/executable';
import { freePort, isListening } from '#testing/ports';
import { startSystemOn } from '#testing/system';
import { Listmonk } from './reference/listmonk.js';
import { spread } from './support/figures.js';
import { cpuSeconds, memoryMb, treeCpuSeconds } from './support/process-usage.js';

/**
 * The same people imported and the same mail sent to them, by us and by listmonk in turn: eight custom fields, twelve tracked
 * links, 14 KB, over as many connections to Postfix's smtp-sink; each on a database of its own in one
 * PostgreSQL with everything durable. `LISTMONK` is listmonk's program, `LISTMONK_SOURCE` its source where it was built from
 * that without its files.
 */
const RECIPIENTS = Number(process.env['RECIPIENTS'] ?? 30_000);
const PAIRS = Number(process.env['PAIRS'] ?? 5);
const CONNECTIONS = Number(process.env['CONNECTIONS'] ?? 50);
const FIELDS = Array.from({ length: 8 }, (_, place) => `f${place}`);
const DEADLINE_MS = 1_800_000;
const LOREM =
  'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua. ';

const print = (line: string) => process.stdout.write(`${line}\n`);
const listmonkProgram = executable(process.env['LISTMONK'] ?? 'listmonk');
const sinkProgram = executable('smtp-sink');
if (listmonkProgram === undefined || sinkProgram === undefined) {
  print(
    `skipped: ${listmonkProgram === undefined ? 'listmonk (LISTMONK)' : 'Postfix’s smtp-sink'} is not here`,
  );
  process.exit(0);
}

/** The mail in the words of one of the two: how it names a first name, a field, and a tracked link. */
const contentOf = (name: string, field: (key: string) => string, tracked: string) =>
  Array.from(
    { length: 12 },
    (_, part) =>
      `<p>${name}, here is <a href="https://example.com/news/${part}${tracked}">part ${part}</a>. ` +
      `${LOREM.repeat(5)}${field(FIELDS[part % FIELDS.length] ?? '')}</p>`,
  ).join('');
const OURS = contentOf('{{ subscriber.first_name }}', (key) => `{{ custom.${key} }}`, '');
const THEIRS =
  contentOf('{{ .Subscriber.FirstName }}', (key) => `{{ .Subscriber.Attribs.${key} }}`, '@TrackLink') +
  '{{ TrackView }}<p><a href="{{ UnsubscribeURL }}">Unsubscribe</a></p>';

interface Measured {
  readonly perSecond: number;
  /** CPU of the programs and of PostgreSQL, ms each. */
  readonly app: number;
  readonly postgres: number;
}

const directory = await mkdtemp(join(tmpdir(), 'mailwright-bench-'));
const postgres = await startPostgres({ directory: join(directory, 'postgres') });
for (const name of ['bench', 'listmonk']) await postgres.ensureDatabase(name);
await migrate(postgres.url('bench'));
const sinkPort = await freePort();
const isRoot = process.getuid?.() === 0;
const sink = spawn(sinkProgram, [...(isRoot ? ['-u', 'postfix'] : []), `127.0.0.1:${sinkPort}`, '1000']);
await eventually('the sink listens', async () => (await isListening(sinkPort)) || null);
const database = openTestDatabase(postgres.url('bench'));
const system = await startSystemOn(database, {
  SMTP_URL: `smtp://127.0.0.1:${sinkPort}?tls=off`,
  SMTP_CONNECTIONS: String(CONNECTIONS),
  REQUIRE_VERIFIED_DOMAIN: 'false',
});
const listmonk = await Listmonk.start({
  program: listmonkProgram,
  source: process.env['LISTMONK_SOURCE'] ?? directory,
  directory,
  databaseUrl: postgres.url('listmonk'),
  sinkPort,
  connections: CONNECTIONS,
});

try {
  const project = await system.project();
  await database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
  const client = await project.client('LIVE');
  const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
  for (const key of FIELDS) await client.post('/custom-fields', { key, type: 'TEXT', displayName: key });
  print(`${RECIPIENTS} people, ${CONNECTIONS} connections`);
  const imported = {
    theirs: await measure(() => listmonk.import(csvOf('email,name,attributes', attributesOf))),
    ours: await measure(() => importPeople(client, topic.at('topicKey'))),
  };
  const pairs: { ours: Measured; theirs: Measured }[] = [];
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const theirs = await measure(() => listmonk.send('News, {{ .Subscriber.FirstName }}', THEIRS));
    const ours = await measure(() => sendCampaign(client, topic.at('id')));
    print(`pair ${pair}: ${ours.perSecond.toFixed(0)} / ${theirs.perSecond.toFixed(0)}`);
    if (pair > 0) pairs.push({ ours, theirs });
  }
  report('imported rows', [imported]);
  report('mails', pairs);
  const [worker, api, other] = [system.worker.pid, system.api.pid, listmonk.pid].map(
    (pid) => memoryMb(pid).peak,
  );
  print(`memory: worker ${worker} MB, api ${api} MB; listmonk ${other} MB`);
} finally {
  await listmonk.stop();
  await system.stop();
  sink.kill();
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
}

/** `what` a second, and CPU for each. All programs are counted: whoever's turn it is not does nothing. */
async function measure(task: () => Promise<unknown>): Promise<Measured> {
  const cpu = () => ({
    app: treeCpuSeconds(system.worker.pid) + cpuSeconds(system.api.pid) + cpuSeconds(listmonk.pid),
    postgres: treeCpuSeconds(postgres.pid),
  });
  const [before, began] = [cpu(), performance.now()];
  await task();
  const seconds = (performance.now() - began) / 1_000;
  const after = cpu();
  const each = (part: 'app' | 'postgres') => ((after[part] - before[part]) * 1_000) / RECIPIENTS;
  return { perSecond: RECIPIENTS / seconds, app: each('app'), postgres: each('postgres') };
}

function report(
  what: string,
  pairs: readonly { readonly ours: Measured; readonly theirs: Measured }[],
): void {
  const table = (pick: (measured: Measured) => number, digits: number) =>
    [pairs.map(({ ours }) => pick(ours)), pairs.map(({ theirs }) => pick(theirs))]
      .map((values) => spread(values, digits))
      .join(' against ');
  const all = ({ app, postgres: server }: Measured) => app + server;
  const ratio = (of: (pair: (typeof pairs)[number]) => number) => spread(pairs.map(of));
  print(`${what}/s: ${table(({ perSecond }) => perSecond, 0)}`);
  print(`${what}, CPU ms each (programs): ${table(({ app }) => app, 3)}`);
  print(`${what}, CPU ms each (PostgreSQL): ${table(({ postgres: server }) => server, 3)}`);
  print(`${what}, ratio: ${ratio(({ ours, theirs }) => ours.perSecond / theirs.perSecond)}`);
  print(`${what}, ratio of CPU: ${ratio(({ ours, theirs }) => all(ours) / all(theirs))}`);
}

async function sendCampaign(client: ApiClient, topicId: string): Promise<void> {
  const created = await client.post('/campaigns', {
    name: 'Bench',
    subject: 'News, {{ subscriber.first_name }}',
    contentJson: JSON.stringify({ blocks: [{ type: 'html', html: OURS }] }),
    topicIds: [topicId],
  });
  const key = created.at('campaignKey');
  const queued = await client.post(`/campaigns/${key}/send`);
  if (queued.status !== 200) throw new Error(queued.text);
  while ((await client.get(`/campaigns/${key}`)).at('status') !== 'SENT') await delay(250);
}

async function importPeople(client: ApiClient, topicKey: string): Promise<void> {
  const columns = ['email', 'firstName', ...FIELDS.map((key) => `customFields.${key}`)].join();
  const answer = await client.post(
    `/subscriber-imports?topicKeys=${topicKey}&consent.source=bench`,
    csvOf(columns, (values) => values.join()),
    { headers: { 'content-type': 'text/csv' } },
  );
  if (answer.status !== 202) throw new Error(answer.text);
  const isOver = async () => {
    const found = await client.get(`/subscriber-imports/${answer.at('id')}`);
    return found.at('completedAt') === null ? null : found;
  };
  const ended = await eventually('the import ends', isOver, DEADLINE_MS);
  if (ended.at<number>('counts', 'created') !== RECIPIENTS) throw new Error(ended.text);
}

/** The same people, whatever else the columns are. */
function csvOf(columns: string, rest: (values: readonly string[]) => string): string {
  const rows = Array.from({ length: RECIPIENTS }, (_, n) => {
    const values = FIELDS.map((_key, place) => `v${(n * 7_919 + place * 104_729) % 1_000}`);
    return `reader${n}@d${n % 200}.example,Name${n},${rest(values)}\n`;
  });
  return `${columns}\n${rows.join('')}`;
}

/** One JSON object, as a CSV has it. */
function attributesOf(values: readonly string[]): string {
  const attributes = Object.fromEntries(FIELDS.map((key, place) => [key, values[place]]));
  return `"${JSON.stringify(attributes).replaceAll('"', '""')}"`;
}
