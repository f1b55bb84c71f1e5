import { eventually } from '#testing/time/eventually';
import { startMailboxes } from './reference/mailboxes.js';
import { BothMailers } from './beside/both-mailers.js';
import { Listmonk } from './reference/listmonk.js';
import { needs } from './support/peer.js';
import { spread } from './support/figures.js';

/**
 * Delivery as users see it: the same mail to the same people by us and by listmonk in turn, through a real Postfix into the
 * mailboxes of a real Dovecot, on one machine. From the send until the last mail is in its mailbox.
 */
const RECIPIENTS = Number(process.env['RECIPIENTS'] ?? 20_000);
const PAIRS = Number(process.env['PAIRS'] ?? 3);
const CONNECTIONS = Number(process.env['CONNECTIONS'] ?? 50);
const DEADLINE_MS = 3_600_000;

const print = (line: string) => process.stdout.write(`${line}\n`);
const [postfix = '', dovecot = ''] = needs('postfix', 'dovecot', Listmonk.program);
if (process.getuid?.() !== 0) {
  print('skipped: Postfix and Dovecot need root');
  process.exit(0);
}
const mailboxes = await startMailboxes({ postfix, dovecot });
const both = await BothMailers.open(Listmonk, {
  relayPort: mailboxes.port,
  connections: CONNECTIONS,
  recipients: RECIPIENTS,
});

try {
  print(`${RECIPIENTS} people, ${CONNECTIONS} connections, Postfix and Dovecot`);
  await both.peer.import(both.readers);
  await both.importOurs(both.readers);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    theirs.push(await untilDelivered(() => both.peer.send()));
    ours.push(await untilDelivered(() => both.sendOurs()));
    print(`pair ${pair}: ${ours.at(-1)?.toFixed(0)} / ${theirs.at(-1)?.toFixed(0)}`);
  }
  print(`mails/s into mailboxes: ${spread(ours, 0)} against ${spread(theirs, 0)}`);
  print(`into mailboxes, ratio: ${spread(ours.map((rate, pair) => rate / (theirs[pair] ?? Number.NaN)))}`);
} finally {
  await both.close();
  await mailboxes.stop();
}

/** Mails a second. */
async function untilDelivered(send: () => Promise<void>): Promise<number> {
  const before = mailboxes.count();
  const begun = performance.now();
  await send();
  await eventually(
    'all mails are in their mailboxes',
    () => mailboxes.count() - before >= RECIPIENTS,
    DEADLINE_MS,
  );
  return RECIPIENTS / ((performance.now() - begun) / 1_000);
}
