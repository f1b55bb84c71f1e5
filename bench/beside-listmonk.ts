import { spawn } from 'node:child_process';
import { eventually } from '#testing/eventually';
import { freePort, isListening } from '#testing/ports';
import { BothMailers, needs } from './support/both-mailers.js';
import { spread } from './support/figures.js';
import { cpuSeconds, memoryMb, treeCpuSeconds } from './support/process-usage.js';

/**
 * The same people imported and the same mail sent to them, by us and by listmonk in turn, over as many connections to Postfix's
 * smtp-sink. `WORKER_PROCESSES` of ours share the connections.
 */
const RECIPIENTS = Number(process.env['RECIPIENTS'] ?? 30_000);
const PAIRS = Number(process.env['PAIRS'] ?? 5);
const CONNECTIONS = Number(process.env['CONNECTIONS'] ?? 50);
const PROCESSES = Number(process.env['WORKER_PROCESSES'] ?? 1);

interface Measured {
  readonly perSecond: number;
  /** CPU of the programs and of PostgreSQL, ms each. */
  readonly app: number;
  readonly postgres: number;
}

const print = (line: string) => process.stdout.write(`${line}\n`);
const [sinkProgram = ''] = needs('smtp-sink');
const sinkPort = await freePort();
const isRoot = process.getuid?.() === 0;
const sink = spawn(sinkProgram, [...(isRoot ? ['-u', 'postfix'] : []), `127.0.0.1:${sinkPort}`, '1000']);
await eventually('the sink listens', async () => (await isListening(sinkPort)) || null);
const both = await BothMailers.open({
  relayPort: sinkPort,
  connections: CONNECTIONS,
  recipients: RECIPIENTS,
  variables: {
    WORKER_PROCESSES: String(PROCESSES),
    SMTP_CONNECTIONS: String(Math.floor(CONNECTIONS / PROCESSES)),
    // PostgreSQL's default of 100 connections is for all of them.
    DATABASE_POOL_SIZE: String(Math.floor(10 / PROCESSES)),
  },
});
const { system, listmonk } = both;

try {
  print(`${RECIPIENTS} people, ${CONNECTIONS} connections, ${PROCESSES} worker processes`);
  const imported = {
    theirs: await measure(() => both.importTheirs()),
    ours: await measure(() => both.importOurs()),
  };
  const pairs: { ours: Measured; theirs: Measured }[] = [];
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const theirs = await measure(() => both.sendTheirs());
    const ours = await measure(() => both.sendOurs());
    print(`pair ${pair}: ${ours.perSecond.toFixed(0)} / ${theirs.perSecond.toFixed(0)}`);
    if (pair > 0) pairs.push({ ours, theirs });
  }
  report('imported rows', [imported]);
  report('mails', pairs);
  const [worker, api, other] = [system.worker.pid, system.api.pid, listmonk.pid].map(
    (pid) => memoryMb(pid).peak,
  );
  if (PROCESSES === 1) print(`memory: worker ${worker} MB, api ${api} MB; listmonk ${other} MB`);
} finally {
  await both.close();
  sink.kill();
}

/** `what` a second, and CPU for each. All programs are counted: whoever's turn it is not does nothing. */
async function measure(task: () => Promise<unknown>): Promise<Measured> {
  const cpu = () => ({
    app: treeCpuSeconds(system.worker.pid) + cpuSeconds(system.api.pid) + cpuSeconds(listmonk.pid),
    postgres: treeCpuSeconds(both.postgresPid),
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
