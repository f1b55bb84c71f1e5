/** Consecutive rows, the first and the last among them. */
export interface RowRange {
  readonly first: number;
  readonly last: number;
}

/** Deals out the rows of an import, each once. */
export class RowRanges {
  #next: number;

  /** From `first` to `last`, `size` rows at a time. */
  constructor(
    first: number,
    private readonly last: number,
    private readonly size: number,
  ) {
    this.#next = first;
  }

  /** The next rows; null when there are none. */
  take(): RowRange | null {
    if (this.#next > this.last) return null;
    const first = this.#next;
    this.#next += this.size;
    return { first, last: Math.min(this.#next - 1, this.last) };
  }

  /** Lets nobody take any more. */
  stop(): void {
    this.#next = Number.POSITIVE_INFINITY;
  }
}
