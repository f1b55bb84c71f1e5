import { describe, expect, it } from '@jest/globals';
import { Gathered } from './gathered.js';

/** Sets of work on a key, each until it is let go. */
class Sets {
  readonly begun: (readonly [key: string, items: readonly number[]])[] = [];
  readonly #open: PromiseWithResolvers<void>[] = [];

  readonly work = async (key: string, items: readonly number[]): Promise<readonly number[]> => {
    this.begun.push([key, items]);
    const open = Promise.withResolvers<void>();
    this.#open.push(open);
    await open.promise;
    return items.map((item) => item * 10);
  };

  /** Resolves when the next set has begun. */
  end(): Promise<void> {
    this.#open.shift()?.resolve();
    return new Promise(setImmediate);
  }

  fail(): Promise<void> {
    this.#open.shift()?.reject(new Error('no'));
    return new Promise(setImmediate);
  }
}

describe('work that is gathered', () => {
  it('begins at once, and is done together for what came meanwhile, in its order', async () => {
    const sets = new Sets();
    const gathered = new Gathered(sets.work);
    const results = [1, 2, 3].map((item) => gathered.add('a', item));
    expect(sets.begun).toEqual([['a', [1]]]);
    await sets.end();
    expect(await results[0]).toBe(10);
    expect(sets.begun.at(-1)).toEqual(['a', [2, 3]]);
    await sets.end();
    expect(await Promise.all(results)).toEqual([10, 20, 30]);
  });

  it('waits for no other key, and takes no more than the most at a time', async () => {
    const sets = new Sets();
    const gathered = new Gathered(sets.work, 2);
    const results = [1, 2, 3, 4].map((item) => gathered.add('a', item));
    results.push(gathered.add('b', 5));
    expect(sets.begun).toEqual([
      ['a', [1]],
      ['b', [5]],
    ]);
    for (const index of [0, 4, 1, 3]) {
      await sets.end();
      await results[index];
    }
    expect(sets.begun.slice(2)).toEqual([
      ['a', [2, 3]],
      ['a', [4]],
    ]);
  });

  it('fails for all of a set, and goes on with the next', async () => {
    const sets = new Sets();
    const gathered = new Gathered(sets.work);
    const first = gathered.add('a', 1);
    const next = [gathered.add('a', 2), gathered.add('a', 3)];
    await sets.end();
    await first;
    const last = gathered.add('a', 4);
    const outcomes = Promise.allSettled(next);
    await sets.fail();
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await sets.end();
    expect(await last).toBe(40);
  });
});
