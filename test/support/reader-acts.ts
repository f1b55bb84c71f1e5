import { burstsOf } from '../../libs/messaging/src/engagement/classification.js';
import * as fc from './properties.js';

export const READERS = 6;
/** Links of each mail. */
export const LINKS = [1, 2, 3, 4] as const;

/** The content of a mail with so many links. */
export const linkedContent = JSON.stringify({
  blocks: ['one', 'two', 'three', 'four'].map((name) => ({
    type: 'button',
    label: name,
    url: `https://acme.example/${name}?utm_source=mail`,
  })),
});

/** Act of a reader or a machine: on which mail, when after it was sent, and what. */
export interface Act {
  readonly reader: number;
  readonly ms: number;
  /** 0 opens, another number follows that link. */
  readonly place: number;
  readonly known: 'proxy' | 'scanner' | null;
}

const HOUR = 3_600_000;

export const acts = fc.array(
  fc.record({
    reader: fc.nat(READERS - 1),
    // An hour later, too: first opens and clicks that turn out late, or not at all, move from hour to hour.
    ms: fc.oneof(fc.nat(6_000), fc.integer({ min: HOUR, max: HOUR + 6_000 })),
    place: fc.nat(4),
    known: fc.constantFrom(null, null, null, null, 'proxy' as const, 'scanner' as const),
  }),
  { maxLength: 40 },
);

/** Acts of people, by the definitions of the contract and brute force over all that was done. */
function countedOf(made: readonly Act[]): Act[] {
  const clicks = made.filter(({ place }) => place > 0);
  const ofEach = [...Map.groupBy(clicks, ({ reader }) => reader).values()];
  const bursts = ofEach.flatMap((ofOne) => [
    ...burstsOf(ofOne.map((act) => ({ at: new Date(act.ms), linkNumber: act.place, act }))),
  ]);
  const burstActs = new Set(bursts.map(({ act }) => act));
  return made.filter((act) => act.known === null && act.ms >= 2_000 && !burstActs.has(act));
}

/** Opens and clicks by people, and the mails with some. */
export function expectedTotals(made: readonly Act[]) {
  const human = countedOf(made);
  const clicks = human.filter(({ place }) => place > 0);
  return {
    totalOpened: human.length,
    uniqueOpens: new Set(human.map(({ reader }) => reader)).size,
    totalClicked: clicks.length,
    uniqueClicks: new Set(clicks.map(({ reader }) => reader)).size,
  };
}

/** Clicks by people and the mails with some, by the number of the link. */
export function expectedByLink(made: readonly Act[]): Map<number, readonly [number, number]> {
  const clicks = countedOf(made).filter(({ place }) => place > 0);
  const of = (number: number) => clicks.filter(({ place }) => place === number);
  const readers = (number: number) => new Set(of(number).map(({ reader }) => reader)).size;
  return new Map(LINKS.map((number) => [number, [of(number).length, readers(number)]]));
}
