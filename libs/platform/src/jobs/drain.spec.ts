import { describe, expect, it } from '@jest/globals';
import { drain, forEachApart } from './drain.js';

describe('periodic work', () => {
  it('takes batches until one is not full', async () => {
    const batches = [10, 10, 3, 10];
    await drain(10, () => Promise.resolve(batches.shift() ?? 0));
    expect(batches).toEqual([10]);
  });

  it('goes on with the others where one fails, and tells of all that failed', async () => {
    const done: number[] = [];
    const work = async (item: number) => {
      if (item % 2 === 0) throw new Error(`not ${item}`);
      done.push(item);
    };
    const failure = await forEachApart([1, 2, 3, 4, 5], work, 'numbers are even').catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({
      message: '2 numbers are even',
      errors: [new Error('not 2'), new Error('not 4')],
    });
    expect(done).toEqual([1, 3, 5]);
  });
});
