import { describe, expect, it } from '@jest/globals';
import { SharedHits, type WindowHit } from './shared-hits.js';

/** A store whose answers come when the test says so. */
class SlowStore {
  readonly #counted = new Map<string, number>();
  readonly asked: [key: string, times: number][] = [];
  readonly answers: (() => void)[] = [];
  isLost = false;

  count(key: string, times: number): Promise<WindowHit> {
    this.asked.push([key, times]);
    return new Promise((resolve, reject) => {
      this.answers.push(() => {
        if (this.isLost) return reject(new Error('lost'));
        const hits = (this.#counted.get(key) ?? 0) + times;
        this.#counted.set(key, hits);
        resolve({ hits, endsAtMs: 60_000, remainingMs: 1 });
      });
    });
  }

  /** Answers until nothing is asked any more. */
  async answerAll(): Promise<void> {
    for (let answer = this.answers.shift(); answer !== undefined; answer = this.answers.shift()) {
      answer();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

const numbers = async (hits: readonly Promise<WindowHit>[]) =>
  (await Promise.all(hits)).map(({ hits: n }) => n);

describe('hits of a rate limit that come at the same time', () => {
  it('have a number each, in their order, and ask the store twice', async () => {
    const store = new SlowStore();
    const shared = new SharedHits((key, _windowMs, times) => store.count(key, times));
    const hits = Array.from({ length: 5 }, () => shared.hit('a', 60_000));
    await store.answerAll();
    expect(await numbers(hits)).toEqual([1, 2, 3, 4, 5]);
    expect(store.asked).toEqual([
      ['a', 1],
      ['a', 4],
    ]);
    const later = shared.hit('a', 60_000);
    await store.answerAll();
    expect((await later).hits).toBe(6);
  });

  it('of different keys do not wait for each other', async () => {
    const store = new SlowStore();
    const shared = new SharedHits((key, _windowMs, times) => store.count(key, times));
    const hits = [shared.hit('a', 60_000), shared.hit('b', 60_000)];
    expect(store.asked).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    await store.answerAll();
    expect(await numbers(hits)).toEqual([1, 1]);
  });

  it('fail with the store, and are counted again when it is back', async () => {
    const store = new SlowStore();
    const shared = new SharedHits((key, _windowMs, times) => store.count(key, times));
    store.isLost = true;
    const lost = Promise.allSettled([
      shared.hit('a', 60_000),
      shared.hit('a', 60_000),
      shared.hit('a', 60_000),
    ]);
    await store.answerAll();
    expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    store.isLost = false;
    const found = shared.hit('a', 60_000);
    await store.answerAll();
    expect((await found).hits).toBe(1);
  });
});
