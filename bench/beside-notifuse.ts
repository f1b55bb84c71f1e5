import { BothMailers } from './beside/both-mailers.js';
import { compareCampaigns } from './beside/campaigns.js';
import { CLIENTS, compareImports, compareRequests } from './beside/requests.js';
import { Notifuse } from './reference/notifuse.js';
import type { Comparison } from './support/comparison.js';
import { needs } from './support/peer.js';
import { PeerRun } from './support/peer-report.js';
import { startPostfixSink } from './support/postfix-sink.js';

/**
 * Mailwright and Notifuse in turn: the same people imported, asked for, created and mailed. Notifuse sends one mail after the other,
 * each over a connection of its own, at most 50 a second, so that campaigns are small. `WRITE=1` puts the tables into RESULTS.md.
 */
const PEOPLE = Number(process.env['PEOPLE'] ?? 50_000);
const RECIPIENTS = Number(process.env['RECIPIENTS'] ?? 1_500);
const PAIRS = Number(process.env['PAIRS'] ?? 3);
const SECONDS = Number(process.env['SECONDS'] ?? 4);
const CONNECTIONS = Number(process.env['CONNECTIONS'] ?? 50);

const [sinkProgram = ''] = needs('smtp-sink', Notifuse.program);
const run = new PeerRun(
  'Notifuse',
  'notifuse',
  `${PEOPLE} people, ${RECIPIENTS} recipients, ${CLIENTS} HTTP connections, ${PAIRS} pairs`,
);
const sink = await startPostfixSink(sinkProgram);
const both = await BothMailers.open(Notifuse, {
  relayPort: sink.port,
  connections: CONNECTIONS,
  recipients: RECIPIENTS,
  variables: { DATABASE_POOL_SIZE: '10' },
});
const comparisons: Comparison[] = [];
try {
  comparisons.push(await compareImports(both, { pairs: PAIRS, people: PEOPLE }));
  comparisons.push(...(await compareRequests(both, { pairs: PAIRS, seconds: SECONDS, people: PEOPLE })));
  const campaign = { operation: 'campaign, mails, as each is set up', goals: [] };
  comparisons.push(await compareCampaigns(both, { pairs: PAIRS, sink }, campaign));
} finally {
  await both.close();
  await sink.stop();
}
// The goals of imports and requests are set beside listmonk.
await run.report(comparisons.map((comparison) => ({ ...comparison, goals: [] })));
