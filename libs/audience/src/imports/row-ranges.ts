/** Consecutive rows, first and last included. */
export interface RowRange {
  readonly first: number;
  readonly last: number;
}

/** The rows from `first` to `last`, `size` at a time. Loops that share it get each range once; when one ends early, all do. */
export function* rowRanges(first: number, last: number, size: number): Generator<RowRange, void> {
  for (let next = first; next <= last; next += size) {
    yield { first: next, last: Math.min(next + size - 1, last) };
  }
}
