/**
 * What was written and not waited for. Its sender remembers it until it is sure to outlast a crash of the server, and
 * writes it again when there was one.
 */
export class UnflushedOutcomes<Work> {
  #era: number | null = null;
  #works: { readonly work: Work; readonly at: number }[] = [];

  get size(): number {
    return this.#works.length;
  }

  newest(): Work[] {
    return this.#works.slice(-1).map(({ work }) => work);
  }

  /** Takes note of works that were written in this era. Resolves to those that a crash may have undone. */
  written(era: number, works: readonly Work[], at: number): Work[] {
    const lost = this.#era === era ? [] : this.#works.map(({ work }) => work);
    if (lost.length > 0) this.#works = [];
    this.#era = era;
    for (const work of works) this.#works.push({ work, at });
    return lost;
  }

  /** All that was written before this moment is safe, if it was written in this era. */
  flushed(era: number, before: number): void {
    if (era === this.#era) this.#works = this.#works.filter(({ at }) => at >= before);
  }
}
