import { beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { SharedReads } from './shared-reads.js';

describe('reads of the same', () => {
  /** What has begun, in order; a read's outcome is what `end` and `fail` say. */
  let begun: PromiseWithResolvers<string>[];
  let reads: SharedReads;
  const ask = (key = 'page') =>
    reads.run(key, () => {
      const read = Promise.withResolvers<string>();
      begun.push(read);
      return read.promise;
    });

  beforeEach(() => {
    begun = [];
    reads = new SharedReads();
  });

  it('are one for all who come while it is under way, and begin after they have come', async () => {
    const first = ask();
    const others = [ask(), ask(), ask()];
    expect(begun).toHaveLength(1);
    begun[0]?.resolve('old');
    expect(await first).toBe('old');
    await turn();
    expect(begun).toHaveLength(2);
    const late = ask();
    begun[1]?.resolve('new');
    expect(await Promise.all(others)).toEqual(['new', 'new', 'new']);
    await turn();
    begun[2]?.resolve('newer');
    expect(await late).toBe('newer');
  });

  it('are made anew by who comes when none is under way', async () => {
    for (const [index, text] of ['one', 'two', 'three'].entries()) {
      const asked = ask();
      begun[index]?.resolve(text);
      expect(await asked).toBe(text);
      await turn();
    }
    expect(begun).toHaveLength(3);
  });

  it('wait for nothing that is not the same', () => {
    void ask('one');
    void ask('another');
    expect(begun).toHaveLength(2);
  });

  it('fail for those who take part, and for nobody else', async () => {
    const [first, second, third] = [ask(), ask(), ask()];
    begun[0]?.reject(new Error('lost'));
    await expect(first).rejects.toThrow('lost');
    await turn();
    begun[1]?.reject(new Error('lost again'));
    await expect(second).rejects.toThrow('lost again');
    await expect(third).rejects.toThrow('lost again');
    const next = ask();
    begun[2]?.resolve('here');
    expect(await next).toBe('here');
  });
});
