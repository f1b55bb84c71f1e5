import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectRoot } from '#platform';
import { BothMailers } from './beside/both-mailers.js';
import { compareCampaigns, compareFirstCampaigns } from './beside/campaigns.js';
import { compareFeedback } from './beside/feedback.js';
import { compareQuietCampaigns } from './beside/quiet.js';
import { CLIENTS, compareImports, compareRequests } from './beside/requests.js';
import { Listmonk } from './reference/listmonk.js';
import type { Comparison } from './support/comparison.js';
import { needs } from './support/peer.js';
import { peerChart, PeerRun } from './support/peer-report.js';
import { startPostfixSink } from './support/postfix-sink.js';
import { memoryMb } from './support/process-usage.js';

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
/** People in each run who confirm, leave or bounce by webhook or report: every run needs others. */
const PEOPLE_A_RUN = Math.min(2_000, Math.floor(RECIPIENTS / 3 / (PAIRS + 1)));

const isAsked = (part: string) => ONLY === undefined || ONLY.includes(part);
const [sinkProgram = ''] = needs('smtp-sink', Listmonk.program);
const run = new PeerRun(
  'listmonk',
  'peer',
  `${PEOPLE} people, ${RECIPIENTS} recipients, ${CONNECTIONS} SMTP connections, ${CLIENTS} HTTP connections, ${PROCESSES} worker processes, ${PAIRS} pairs`,
);
const sink = await startPostfixSink(sinkProgram);
const both = await BothMailers.open(Listmonk, {
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

const campaigns = { pairs: PAIRS, sink };
const comparisons: Comparison[] = [];
try {
  comparisons.push(await compareImports(both, { pairs: PAIRS, people: PEOPLE }));
  if (isAsked('requests'))
    comparisons.push(...(await compareRequests(both, { pairs: PAIRS, seconds: SECONDS, people: PEOPLE })));
  if (isAsked('campaigns')) comparisons.push(await withTexts(), await asSetUp());
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
await run.report(comparisons);
await drawChart();

/** Only ours makes a text part by itself. */
function withTexts(): Promise<Comparison> {
  return compareCampaigns(both, campaigns, {
    operation: 'campaign, mails, both with a text part',
    goals: [{ of: 'rate', least: 1.25 }],
    theirs: () => both.peer.send({ hasText: true }),
  });
}

function asSetUp(): Promise<Comparison> {
  return compareCampaigns(both, campaigns, {
    operation: 'campaign, mails, as each is set up',
    goals: [
      { of: 'rate', least: 1.1 },
      { of: 'cpu', most: 0.85 },
    ],
  });
}

async function feedback(): Promise<Comparison[]> {
  if (!isAsked('campaigns') && !isAsked('starts')) {
    await both.peer.send();
    await both.sendOurs();
  }
  return compareFeedback(both, { pairs: PAIRS, seconds: SECONDS, people: PEOPLE_A_RUN });
}

function printMemory(): void {
  const [worker, api, other] = [both.system.worker.pid, both.system.api.pid, both.peer.pid].map(
    (pid) => memoryMb(pid).peak,
  );
  if (PROCESSES === 1)
    process.stdout.write(`memory: worker ${worker} MB, api ${api} MB; listmonk ${other} MB\n`);
}

/** Draws the chart of the tables in RESULTS.md, which are new with the same `WRITE=1`. */
async function drawChart(): Promise<void> {
  if (process.env['WRITE'] !== '1') return;
  const [results, chart] = ['bench/RESULTS.md', 'bench/beside-listmonk.svg'].map((file) =>
    join(projectRoot(), file),
  );
  await writeFile(chart!, peerChart('listmonk', 'peer', await readFile(results!, 'utf8')));
}
