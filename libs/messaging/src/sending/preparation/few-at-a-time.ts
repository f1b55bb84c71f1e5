import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Mails that are made in one go: about a millisecond, in which no relay and no database is listened to. All of a claim at
 * once take fifteen (bench/history/campaign.md).
 */
const IN_ONE_GO = 16;

/** `Promise.all` of what `make` makes of each, begun a few at a time so that connections are listened to in between. */
export async function makeFewAtATime<Item, Made>(
  items: readonly Item[],
  make: (item: Item) => Promise<Made>,
): Promise<Made[]> {
  const made: Promise<Made>[] = [];
  for (const item of items) {
    const one = make(item);
    // Whoever awaits them all is told; until then nobody listens, which would end the process.
    one.catch(() => undefined);
    made.push(one);
    if (made.length % IN_ONE_GO === 0) await nextTurn();
  }
  return Promise.all(made);
}
