/**
 * What was written and not waited for. Its sender remembers it until it is sure to outlast a crash of the server, and
 * writes it again when there was one.
 */
export class UnflushedOutcomes<Work> {
  #epoch: number | null = null;
  #works: { readonly work: Work; readonly at: number }[] = [];

  get size(): number {
    return this.#works.length;
  }

  newest(): Work[] {
    return this.#works.slice(-1).map(({ work }) => work);
  }

  /** Takes note of works that were written in this epoch. Resolves to those that a crash may have undone. */
  written(epoch: number, works: readonly Work[], at: number): Work[] {
    const lost = this.#epoch === epoch ? [] : this.#works.map(({ work }) => work);
    if (lost.length > 0) this.#works = [];
    this.#epoch = epoch;
    for (const work of works) this.#works.push({ work, at });
    return lost;
  }

  /** All that was written before this moment is safe, if it was written in this epoch. */
  flushed(epoch: number, before: number): void {
    if (epoch === this.#epoch) this.#works = this.#works.filter(({ at }) => at >= before);
  }
}
