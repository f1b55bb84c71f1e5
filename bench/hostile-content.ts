import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { startSystemOn } from '#testing/programs/system';
import { SLOW_LOGIC, slowContent, WORST_CONTENT } from '#testing/random/worst-content';
import { startBenchServer } from './support/bench-server.js';
import { spread } from './support/figures.js';
import { memoryMb } from './support/process-usage.js';

/**
 * The longest that `/health/live` and a stranger's confirmation mail are waited for in `SECONDS`: while nothing else is done, and
 * beside one project that has the worst content previewed and sent that we could make, as fast as it is let.
 */
const SECONDS = Number(process.env['SECONDS'] ?? 20);
const PAIRS = Number(process.env['PAIRS'] ?? 3);
const PREVIEWS_AT_ONCE = 16;

const say = (line: string) => process.stdout.write(`${line}\n`);
const server = await startBenchServer();
const sink = await startSmtpSink();
const system = await startSystemOn(server.database, { SMTP_URL: sink.url, REQUIRE_VERIFIED_DOMAIN: 'false' });
let nonce = 0;

interface Longest {
  readonly health: number;
  readonly optIn: number;
}

try {
  const [one, other] = [await system.project('BADC'), await system.project('GOOD')];
  await system.database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
  const hostile = await one.client('LIVE');
  const stranger = await other.client('LIVE');
  const topic = await hostile.post('/topics', { name: 'Worst', doubleOptInEnabled: false });
  await insertSubscribers(system.database, one.live, topic.at('id'), 300);
  const asked = await stranger.post('/topics', { name: 'News', doubleOptInEnabled: true });
  await measure(stranger, asked.at('topicKey'), 2);
  const pairs: { readonly quiet: Longest; readonly beside: Longest }[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const quiet = await measure(stranger, asked.at('topicKey'), SECONDS);
    const stop = new AbortController();
    const attack = attackWith(hostile, topic.at('id'), stop.signal);
    await delay(1_000);
    const beside = await measure(stranger, asked.at('topicKey'), SECONDS);
    stop.abort();
    const previews = await attack;
    say(
      `pair ${pair}: health ${quiet.health.toFixed(0)} / ${beside.health.toFixed(0)} ms, confirmation ${quiet.optIn.toFixed(0)} / ${beside.optIn.toFixed(0)} ms, ${previews} previews, load ${loadavg()[0]?.toFixed(1)}`,
    );
    pairs.push({ quiet, beside });
  }
  const added = (part: keyof Longest) =>
    spread(
      pairs.map(({ quiet, beside }) => beside[part] - quiet[part]),
      0,
    );
  say(`health, longest wait added, ms: ${added('health')}`);
  say(`confirmation, longest wait added, ms: ${added('optIn')}`);
  say(
    `memory: at most api ${memoryMb(system.api.pid).peak} MB, worker ${memoryMb(system.worker.pid).peak} MB`,
  );
} finally {
  await system.stop();
  await sink.stop();
  await server.stop();
}

/** Both one after the other, again and again. */
async function measure(stranger: ApiClient, topicKey: string, seconds: number): Promise<Longest> {
  const end = performance.now() + seconds * 1_000;
  let [health, optIn] = [0, 0];
  const asking = async (): Promise<void> => {
    for (; performance.now() < end; await delay(20)) health = Math.max(health, await timeOf(live));
  };
  const signingUp = async (): Promise<void> => {
    for (; performance.now() < end; await delay(20))
      optIn = Math.max(optIn, await timeOf(() => confirmation(stranger, topicKey)));
  };
  await Promise.all([asking(), signingUp()]);
  return { health, optIn };
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function live(): Promise<void> {
  await (await fetch(`${system.baseUrl}/health/live`)).text();
}

async function confirmation(stranger: ApiClient, topicKey: string): Promise<void> {
  const email = `stranger-${(nonce += 1)}@elsewhere.example`;
  const signedUp = await stranger.post('/subscribers', {
    email,
    topicKeys: [topicKey],
    consent: { source: 'form' },
  });
  if (signedUp.status !== 201) throw new Error(signedUp.text);
  await eventually('the confirmation arrives', () => sink.messages.some(({ to }) => to.includes(email)));
}

/** Attacks until `signal` says stop; resolves to the number of previews that came to an end. */
async function attackWith(hostile: ApiClient, topicId: string, signal: AbortSignal): Promise<number> {
  const create = async (contentJson: string): Promise<string> => {
    const body = { name: 'Worst', subject: 'News', contentJson, topicIds: [topicId] };
    return (await hostile.post('/campaigns', body)).at('campaignKey');
  };
  const sent = await create(SLOW_LOGIC);
  await hostile.post(`/campaigns/${sent}/send`);
  let ended = 0;
  const preview = async (_: unknown, place: number): Promise<void> => {
    for (let turn = place; !signal.aborted; turn += 1) {
      const content =
        turn % 2 === 0 ? slowContent((nonce += 1)) : WORST_CONTENT[turn % WORST_CONTENT.length]?.contentJson;
      await hostile.get(`/campaigns/${await create(content ?? '')}/preview`);
      ended += 1;
    }
  };
  await Promise.all(Array.from({ length: PREVIEWS_AT_ONCE }, preview));
  return ended;
}
