/** The last of the hits that were counted. */
export interface WindowHit {
  /** Its number in the running window. */
  readonly hits: number;
  readonly endsAtMs: number;
  /** From now, by the storage's own clock. */
  readonly remainingMs: number;
}

/** Counts so many hits of a key at one moment. */
type Count = (key: string, windowMs: number, times: number) => Promise<WindowHit>;

type Waiting = Pick<PromiseWithResolvers<WindowHit>, 'resolve' | 'reject'>;

/**
 * Counts the hits of one key one after the other, and those that come meanwhile together: of a key that is used by
 * many at once each would wait for the others in the storage. Each hit has a number of its own, in the order of coming.
 */
export class SharedHits {
  /** The hits that wait, of each key of which some are being counted. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(private readonly count: Count) {}

  hit(key: string, windowMs: number): Promise<WindowHit> {
    const hit = Promise.withResolvers<WindowHit>();
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) {
      this.#waiting.set(key, []);
      void this.#countAll(key, windowMs, [hit]);
    } else waiting.push(hit);
    return hit.promise;
  }

  async #countAll(key: string, windowMs: number, first: readonly Waiting[]): Promise<void> {
    let together = first;
    while (together.length > 0) {
      await this.#countTogether(key, windowMs, together);
      together = this.#waiting.get(key) ?? [];
      if (together.length > 0) this.#waiting.set(key, []);
    }
    this.#waiting.delete(key);
  }

  async #countTogether(key: string, windowMs: number, together: readonly Waiting[]): Promise<void> {
    try {
      const last = await this.count(key, windowMs, together.length);
      const before = last.hits - together.length;
      for (const [index, { resolve }] of together.entries()) resolve({ ...last, hits: before + index + 1 });
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
  }
}
