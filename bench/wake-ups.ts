import { sql } from 'kysely';
import { Database, enqueue, jobType, PostgresNotifications } from '#platform';
import { prepareProject } from '#testing/programs/system';
import { startBenchServer } from './support/bench-server.js';
import { spread } from './support/figures.js';

/**
 * Commits with a job, each flushed to the disk, by clients at the same time: with their wake-ups as a process sends
 * them, with none, and with a NOTIFY in each.
 */
const CLIENTS = 16;
const SECONDS = Number(process.env['SECONDS'] ?? 3);
const PAIRS = Number(process.env['PAIRS'] ?? 5);

const say = (line: string) => process.stdout.write(`${line}\n`);
const server = await startBenchServer();
const { database: admin } = server;
const { url } = admin;
const options = { url, poolSize: CLIENTS, applicationName: 'bench', entities: [] };
const silence = { send: () => Promise.resolve(), close: () => undefined };
const [woken, silent] = [
  await Database.connect(options),
  await Database.connect({ ...options, notificationTransport: silence }),
];
const notifications = new PostgresNotifications(url);
const job = jobType('bench', 'mail')({});
try {
  let heard = 0;
  notifications.listen('mailwright_jobs', () => (heard += 1));
  await notifications.start();
  const { live: scope } = await prepareProject(admin, '');
  const commit = (database: Database) => database.transaction(scope, () => enqueue(database, scope, job));
  const commitAndNotify = () =>
    silent.transaction(scope, async () => {
      await enqueue(silent, scope, job);
      await sql`select pg_notify('mailwright_jobs', '')`.execute(silent.tables());
    });
  const rounds: Record<'ours' | 'without' | 'inEach', number>[] = [];
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const without = await perSecond(() => commit(silent));
    heard = 0;
    const ours = await perSecond(() => commit(woken));
    const wakeUps = heard / SECONDS;
    const inEach = await perSecond(commitAndNotify);
    say(
      `pair ${pair}: ${ours.toFixed(0)} / ${without.toFixed(0)} commits/s, ${wakeUps.toFixed(0)} wake-ups/s; NOTIFY in each: ${inEach.toFixed(0)}`,
    );
    if (pair > 0) rounds.push({ ours, without, inEach });
  }
  const column = (name: 'ours' | 'without' | 'inEach') =>
    spread(
      rounds.map((round) => round[name]),
      0,
    );
  say(`commits/s: ${column('ours')} against ${column('without')} without`);
  say(`ratio: ${spread(rounds.map(({ ours, without }) => ours / without))}`);
  say(`ratio, NOTIFY in each: ${spread(rounds.map(({ inEach, without }) => inEach / without))}`);
} finally {
  await notifications.stop();
  await Promise.all([woken.close(), silent.close()]);
  await admin.drop();
  await server.stop();
}

async function perSecond(work: () => Promise<unknown>): Promise<number> {
  await admin.query('truncate platform.jobs');
  await admin.query('checkpoint');
  const until = performance.now() + SECONDS * 1_000;
  let commits = 0;
  const client = async () => {
    for (; performance.now() < until; commits += 1) await work();
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return commits / SECONDS;
}
