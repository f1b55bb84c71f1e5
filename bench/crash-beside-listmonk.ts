import { startProgram } from '#testing/programs/program';
import { eventually } from '#testing/time/eventually';
import { startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import { BothMailers } from './beside/both-mailers.js';
import { Listmonk } from './reference/listmonk.js';
import { spread } from './support/figures.js';

/**
 * Cost of a crash: our worker and listmonk are killed (SIGKILL) in the middle of a campaign and started again at once. Counts the
 * people without a mail when the campaign is said to be over, and those who got it twice.
 */
const RECIPIENTS = Number(process.env['RECIPIENTS'] ?? 10_000);
const PAIRS = Number(process.env['PAIRS'] ?? 3);
const CONNECTIONS = Number(process.env['CONNECTIONS'] ?? 50);
const DEADLINE_MS = 1_800_000;

interface Crash {
  readonly lost: number;
  readonly twice: number;
}

const print = (line: string) => process.stdout.write(`${line}\n`);
const sink = await startRawSmtpSink({ keep: 'index' });
const both = await BothMailers.open(Listmonk, {
  relayPort: sink.port,
  connections: CONNECTIONS,
  recipients: RECIPIENTS,
});
const { system, peer: listmonk } = both;

try {
  print(`${RECIPIENTS} people, ${CONNECTIONS} connections, killed in the middle`);
  await both.peer.import(both.readers);
  await both.importOurs(both.readers);
  const ours: Crash[] = [];
  const theirs: Crash[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    theirs.push(
      await crash(
        () => both.peer.send(),
        () => listmonk.replace(),
      ),
    );
    ours.push(await crash(() => both.sendOurs(), replaceWorker));
  }
  report('lost', ours, theirs);
  report('twice', ours, theirs);
} finally {
  await both.close();
  await sink.stop();
}

async function crash(send: () => Promise<void>, replace: () => Promise<void>): Promise<Crash> {
  sink.clear();
  const sending = send();
  await eventually('half of the mails have arrived', () => sink.count() >= RECIPIENTS / 2, DEADLINE_MS);
  await replace();
  await sending;
  const times = new Map<string, number>();
  for (const { to } of sink.messages)
    for (const address of to) times.set(address, (times.get(address) ?? 0) + 1);
  const twice = [...times.values()].filter((count) => count > 1).length;
  print(`${RECIPIENTS - times.size} lost, ${twice} twice`);
  return { lost: RECIPIENTS - times.size, twice };
}

async function replaceWorker(): Promise<void> {
  await system.worker.kill();
  system.worker = await startProgram('worker', system.variables);
}

function report(what: keyof Crash, ours: readonly Crash[], theirs: readonly Crash[]): void {
  const of = (crashes: readonly Crash[]) =>
    spread(
      crashes.map((one) => one[what]),
      0,
    );
  print(`${what} by a crash: ${of(ours)} against ${of(theirs)}`);
}
