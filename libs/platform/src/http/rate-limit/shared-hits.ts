import type { WindowHit } from './rate-limit.js';

/** Counts so many hits of a key at one moment; `hits` is the number of the last of them. */
type Count = (key: string, times: number) => Promise<WindowHit>;

type Waiting = Pick<PromiseWithResolvers<WindowHit>, 'resolve' | 'reject'>;

/**
 * Counts the hits of one key one after the other, and those that come meanwhile together: of a key that is used by
 * many at once each would wait for the others in the store. Each hit has a number of its own, in the order of coming.
 */
export class SharedHits {
  /** The hits that wait, of each key of which some are being counted. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(private readonly count: Count) {}

  hit(key: string): Promise<WindowHit> {
    const hit = Promise.withResolvers<WindowHit>();
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) {
      this.#waiting.set(key, []);
      void this.#countAll(key, [hit]);
    } else waiting.push(hit);
    return hit.promise;
  }

  async #countAll(key: string, first: readonly Waiting[]): Promise<void> {
    let together = first;
    while (together.length > 0) {
      await this.#countTogether(key, together);
      together = this.#waiting.get(key) ?? [];
      if (together.length > 0) this.#waiting.set(key, []);
    }
    this.#waiting.delete(key);
  }

  async #countTogether(key: string, together: readonly Waiting[]): Promise<void> {
    try {
      const last = await this.count(key, together.length);
      const before = last.hits - together.length;
      for (const [index, { resolve }] of together.entries()) resolve({ ...last, hits: before + index + 1 });
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
  }
}
