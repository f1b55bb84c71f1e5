/** Nobody follows so many different links of a mail in so short a time. */
const BURST_LINKS = 3;
/** How far apart two clicks of one burst can be. */
export const BURST_MS = 1_000;

/** A click, wherever it is kept. */
export interface Click {
  readonly at: Date;
  readonly linkNumber: number | null;
}

/**
 * The clicks of one mail that are part of a burst: within some second, three different links or more. Says the same
 * in whatever order the clicks became known, and more clicks never take one out of a burst.
 */
export function burstsOf<Item extends Click>(clicks: readonly Item[]): Set<Item> {
  const inOrder = clicks.toSorted((a, b) => a.at.getTime() - b.at.getTime());
  const links = new Map<number | null, number>();
  const bursts = new Set<Item>();
  let end = 0;
  let marked = 0;
  for (const [begin, first] of inOrder.entries()) {
    for (let next = inOrder[end]; next !== undefined && isWithin(first, next); next = inOrder[end]) {
      links.set(next.linkNumber, (links.get(next.linkNumber) ?? 0) + 1);
      end += 1;
    }
    if (links.size >= BURST_LINKS) {
      for (const click of inOrder.slice(Math.max(begin, marked), end)) bursts.add(click);
      marked = end;
    }
    const left = (links.get(first.linkNumber) ?? 0) - 1;
    if (left > 0) links.set(first.linkNumber, left);
    else links.delete(first.linkNumber);
  }
  return bursts;
}

const isWithin = (first: Click, next: Click): boolean => next.at.getTime() - first.at.getTime() <= BURST_MS;
