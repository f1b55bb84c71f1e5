import { readFile, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '#platform';
import { BothMailers, needs } from './beside/both-mailers.js';
import { compareCampaigns, compareFirstCampaigns } from './beside/campaigns.js';
import { compareFeedback } from './beside/feedback.js';
import { compareQuietCampaigns } from './beside/quiet.js';
import { CLIENTS, compareRequests } from './beside/requests.js';
import { compare, type Comparison } from './support/comparison.js';
import { peerChart, peerTables } from './support/peer-report.js';
import { startPostfixSink } from './support/postfix-sink.js';
import { memoryMb } from './support/process-usage.js';
import { machine, withBlock } from './support/results.js';

/**
 * Mailwright and listmonk in turn, operation by operation: the same people imported, asked for, created and mailed over as many
 * connections, and what comes back of them. `WRITE=1` puts the tables at the head of RESULTS.md, and the chart beside it.
 */
const PEOPLE = Number(process.env['PEOPLE'] ?? 200_000);
const RECIPIENTS = Number(process.env['RECIPIENTS'] ?? 30_000);
const PAIRS = Number(process.env['PAIRS'] ?? 3);
const SECONDS = Number(process.env['SECONDS'] ?? 4);
const QUIET = Number(process.env['QUIET'] ?? 400);
const CONNECTIONS = Number(process.env['CONNECTIONS'] ?? 50);
const PROCESSES = Number(process.env['WORKER_PROCESSES'] ?? 1);
const ONLY = process.env['ONLY']?.split(',');
const RESULTS = join(projectRoot(), 'bench/RESULTS.md');
const CHART = join(projectRoot(), 'bench/beside-listmonk.svg');
const PEER = 'listmonk';
/** Who confirms, leaves or bounces by webhook or report must be another one in each run. */
const PEOPLE_A_RUN = Math.min(2_000, Math.floor(RECIPIENTS / 3 / (PAIRS + 1)));

const print = (line: string) => process.stdout.write(`${line}\n`);
const isAsked = (part: string) => ONLY === undefined || ONLY.includes(part);
const [sinkProgram = ''] = needs('smtp-sink');
const began = { load: loadavg()[0] ?? 0, at: performance.now() };
const sink = await startPostfixSink(sinkProgram);
const both = await BothMailers.open({
  relayPort: sink.port,
  connections: CONNECTIONS,
  recipients: RECIPIENTS,
  variables: {
    WORKER_PROCESSES: String(PROCESSES),
    SMTP_CONNECTIONS: String(Math.floor(CONNECTIONS / PROCESSES)),
    // PostgreSQL's default of 100 connections is for all of them.
    DATABASE_POOL_SIZE: String(Math.floor(10 / PROCESSES)),
    PAGE_LIMIT_PER_MINUTE: '1000000',
    FEEDBACK_LIMIT_PER_MINUTE: '10000000',
    OUTGOING_PRIVATE_ADDRESSES: 'true',
    BOUNCE_PORT: '0',
  },
});

const comparisons: Comparison[] = [];
try {
  print(
    `${PEOPLE} people, ${RECIPIENTS} recipients, ${CONNECTIONS} connections, ${PROCESSES} worker processes`,
  );
  comparisons.push(await compareImports());
  if (isAsked('requests'))
    comparisons.push(...(await compareRequests(both, { pairs: PAIRS, seconds: SECONDS, people: PEOPLE })));
  const campaigns = { recipients: RECIPIENTS, pairs: PAIRS, sink };
  if (isAsked('campaigns')) comparisons.push(...(await compareCampaigns(both, campaigns)));
  printMemory();
  if (isAsked('starts')) comparisons.push(await compareFirstCampaigns(both, campaigns));
  if (isAsked('feedback')) comparisons.push(...(await feedback()));
} finally {
  await both.close();
  await sink.stop();
}
if (isAsked('quiet'))
  comparisons.push(
    await compareQuietCampaigns({
      recipients: RECIPIENTS,
      quiet: QUIET,
      pairs: PAIRS,
      connections: String(CONNECTIONS),
    }),
  );
await report();

/** The recipients, then each pair a share of the others. */
function compareImports(): Promise<Comparison> {
  const people = (run: number) => {
    const share = Math.floor((PEOPLE - RECIPIENTS) / PAIRS);
    if (run === 0) return { from: 0, to: RECIPIENTS, list: 'News' as const };
    const from = RECIPIENTS + (run - 1) * share;
    return { from, to: run === PAIRS ? PEOPLE : from + share, list: 'Others' as const };
  };
  const count = (run: number) => people(run).to - people(run).from;
  const goals = [
    { of: 'rate', least: 5 },
    { of: 'cpu', most: 0.3 },
  ] as const;
  return compare('import, rows', goals, PAIRS, {
    theirs: (run) => both.measure(() => both.importTheirs(people(run)).then(() => count(run))),
    ours: (run) => both.measure(() => both.importOurs(people(run)).then(() => count(run))),
  });
}

async function feedback(): Promise<Comparison[]> {
  if (!isAsked('campaigns') && !isAsked('starts')) {
    await both.sendTheirs();
    await both.sendOurs();
  }
  return compareFeedback(both, { pairs: PAIRS, seconds: SECONDS, people: PEOPLE_A_RUN });
}

function printMemory(): void {
  const [worker, api, other] = [both.system.worker.pid, both.system.api.pid, both.listmonk.pid].map(
    (pid) => memoryMb(pid).peak,
  );
  if (PROCESSES === 1) print(`memory: worker ${worker} MB, api ${api} MB; listmonk ${other} MB`);
}

async function report(): Promise<void> {
  const seconds = Math.round((performance.now() - began.at) / 1_000);
  const load = `load ${began.load.toFixed(1)} when it began`;
  const calm =
    began.load < 0.5 ? `calm machine (${load})` : `beside other work, so only an indication (${load})`;
  const about =
    `${PEOPLE} people, ${RECIPIENTS} recipients, ${CONNECTIONS} SMTP connections, ${CLIENTS} HTTP connections, ${PAIRS} pairs; ${seconds} s. ` +
    `${machine(new Date())}; ${calm}.`;
  const tables = peerTables(PEER, comparisons);
  print(`\n${tables}\n\n${about}`);
  if (process.env['WRITE'] !== '1') return;
  const results = await readFile(RESULTS, 'utf8');
  await writeFile(RESULTS, withBlock(results, 'peer', `${about}\n\n${tables}`));
  await writeFile(
    CHART,
    peerChart(PEER, `${new Date().toISOString().slice(0, 10)}, ${PEOPLE} people, ${calm}`, comparisons),
  );
}
