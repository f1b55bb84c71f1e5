import { ReturnPaths } from '../libs/deliverability/src/bounces/return-path.js';
import { kindRules } from '../libs/deliverability/src/relays/kinds/kinds.js';
import { newId } from '#kernel';
import type { TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { startProgram } from '#testing/programs/program';
import type { PostedFeedback, ProviderEvent } from '#testing/relays/provider-sink';
import { standIns } from '#testing/relays/stand-ins';
import { prepareProject, SECRETS } from '#testing/programs/system';
import { startBenchServer } from './support/bench-server.js';
import { cpuSeconds, treeCpuSeconds } from './support/process-usage.js';

/**
 * Cost of provider events: the built api over HTTP, PostgreSQL, and the worker that processes them. Posted as SendGrid does,
 * up to 1 000 a request, and one a request, as most others do.
 */
const EVENTS = Number(process.env['EVENTS'] ?? 10_000);
const SET = Number(process.env['SET'] ?? 1_000);
const CONNECTIONS = 20;
/** Numbers of each kind in a thousand events of a clean list. */
const USUAL = { hard: 10, full: 15, complaint: 1, unsubscribed: 4 };

const BOUNCES: Readonly<Record<'hard' | 'full', ProviderEvent>> = {
  hard: { kind: 'bounce', said: '550 5.1.1 No such user here' },
  full: { kind: 'bounce', said: '552 5.2.2 Mailbox full' },
};

/** The event of the nth mail. */
type Told = (n: number) => ProviderEvent;

const delivered: Told = () => ({ kind: 'delivered' });
const usual: Told = (n) => {
  // Spread over all, as they are.
  const place = (n * 617) % 1_000;
  const { hard, full, complaint, unsubscribed } = USUAL;
  if (place < hard) return BOUNCES.hard;
  if (place < hard + full) return BOUNCES.full;
  if (place < hard + full + complaint) return { kind: 'complaint' };
  return { kind: place < hard + full + complaint + unsubscribed ? 'unsubscribed' : 'delivered' };
};
const bounced: Told = (n) => (n % 2 === 0 ? BOUNCES.hard : BOUNCES.full);

interface Programs {
  readonly api: { readonly pid: number; readonly port: number };
  readonly worker: { readonly pid: number };
  readonly postgres: { readonly pid: number };
}

/** Sent mails of a campaign, with the tokens that their events have. */
async function prepareMails(
  database: TestDatabase,
  environmentId: number,
): Promise<[token: string, to: string][]> {
  const rows = await database.query<{ id: string; address: string }>(
    `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, address, address_key, message_id, state,
       next_attempt_at, sent_at, created_at, finished_at)
     select platform.new_id(), (now() at time zone 'UTC')::date, $1, 'CAMPAIGN', $2::uuid, a, a, '<' || n || '@example.com>', 'SENT', now(),
       now(), now(), now()
     from generate_series(1, $3::int) n cross join lateral (select 'r' || n || '-' || $2::text || '@example.com' as a) a returning id, address`,
    [environmentId, newId(), EVENTS],
  );
  const paths = new ReturnPaths(SECRETS.TOKEN_SECRET);
  return rows.map(({ id, address }) => [paths.tokenOf({ environmentId, deliveryId: id }), address]);
}

function requestsOf(
  kind: 'SENDGRID' | 'POSTMARK',
  mails: readonly (readonly [token: string, to: string])[],
  told: Told,
  eventsEach: number,
): PostedFeedback[] {
  const events = mails.map(([token, to], n) => {
    const headers = kindRules(kind).headersOf({ token, stream: 'CAMPAIGN', options: {} });
    const raw = Buffer.from([...headers.map((field) => field.join(': ')), '', ''].join('\r\n'));
    return standIns[kind].eventOf({ id: newId(), to, raw }, told(n));
  });
  const at = { signedAt: new Date() };
  if (eventsEach === 1) return events.map((event) => standIns[kind].post(event, at));
  return Array.from({ length: Math.ceil(events.length / eventsEach) }, (_, n) =>
    standIns[kind].post(events.slice(n * eventsEach, (n + 1) * eventsEach), at),
  );
}

async function postAll(url: string, requests: readonly PostedFeedback[]): Promise<void> {
  const left = requests.values();
  const client = async () => {
    for (const { headers, body } of left) {
      const answer = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) });
      await answer.arrayBuffer();
      if (answer.status !== 200) throw new Error(`A post was answered with ${answer.status}.`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
}

/** Resolves when the worker has done all that follows. */
function followed(database: TestDatabase): Promise<unknown> {
  return eventually('all of it is done', async () => {
    const [row] = await database.query<{ open: boolean }>(
      'select exists (select from platform.jobs where finished_at is null) as open',
    );
    return row?.open === false;
  });
}

async function measure(
  name: string,
  { api, worker, postgres }: Programs,
  { url, requests, database }: { url: string; requests: readonly PostedFeedback[]; database: TestDatabase },
): Promise<void> {
  const usage = () => [cpuSeconds(api.pid), treeCpuSeconds(postgres.pid), cpuSeconds(worker.pid)] as const;
  const before = usage();
  const begin = performance.now();
  await postAll(url, requests);
  const seconds = (performance.now() - begin) / 1_000;
  const answered = usage();
  await followed(database);
  const later = (performance.now() - begin) / 1_000;
  const micros = (from: readonly number[], to: readonly number[]) =>
    to.map((now, at) => (((now - from[at]!) / EVENTS) * 1e6).toFixed(0));
  const [ofApi, ofPostgres, ofWorker] = micros(before, usage());
  const [whileApi, whilePostgres] = micros(before, answered);
  process.stdout.write(
    `${name.padEnd(46)} ${(EVENTS / seconds).toFixed(0).padStart(6)} events/s, all followed after ${later.toFixed(1)} s; µs of CPU an ` +
      `event: api ${ofApi} (until answered ${whileApi}), PostgreSQL ${ofPostgres} (${whilePostgres}), worker ${ofWorker}\n`,
  );
}

async function main(): Promise<void> {
  const server = await startBenchServer();
  const { database } = server;
  const variables = {
    DATABASE_URL: database.url,
    FEEDBACK_LIMIT_PER_MINUTE: '10000000',
    OUTGOING_PRIVATE_ADDRESSES: 'true',
    ...SECRETS,
  };
  const api = await startProgram('api', variables);
  const baseUrl = `http://127.0.0.1:${api.port}`;
  const worker = await startProgram('worker', { ...variables, PUBLIC_URL: baseUrl });
  const programs = { api, worker, postgres: { pid: server.pid } };
  try {
    const project = await prepareProject(database, baseUrl);
    const client = await project.client('LIVE');
    const urlOf = async (kind: 'SENDGRID' | 'POSTMARK'): Promise<string> => {
      const feedbackKey = standIns[kind].proof.key;
      const relay = await client.post('/relays', {
        name: kind,
        kind,
        host: '127.0.0.1',
        port: 587,
        feedbackKey,
      });
      return relay.at('feedbackUrl').replace(/^https?:\/\/[^/]+/, baseUrl);
    };
    const [many, single] = [await urlOf('SENDGRID'), await urlOf('POSTMARK')];
    const run = async (name: string, told: Told, eventsEach: number, isShown = true) => {
      const mails = await prepareMails(database, project.live.environmentId);
      await database.query('analyze messaging.deliveries');
      const [kind, url] = eventsEach === 1 ? (['POSTMARK', single] as const) : (['SENDGRID', many] as const);
      const requests = requestsOf(kind, mails, told, eventsEach);
      if (isShown) await measure(name, programs, { url, requests, database });
      else await postAll(url, requests);
      await followed(database);
    };
    await run('', usual, SET, false);
    for (const [what, told] of [
      ['delivered', delivered],
      ['as of a clean list', usual],
      ['bounces', bounced],
    ] as const) {
      await run(`${what}, ${SET} a request`, told, SET);
      await run(`${what}, one a request`, told, 1);
    }
  } finally {
    await Promise.all([worker.stop(), api.stop()]);
    await database.drop();
    await server.stop();
  }
}

await main();
