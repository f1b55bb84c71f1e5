import { describe, expect, it } from '@jest/globals';
import { makeFewAtATime } from './mail-batches.service.js';

const HUNDRED = Array.from({ length: 100 }, (_, index) => index);

describe('what is made a few at a time', () => {
  it('comes in the order of what it is made of', async () => {
    expect(await makeFewAtATime(HUNDRED, (item) => Promise.resolve(item * 2))).toEqual(
      HUNDRED.map((item) => item * 2),
    );
  });

  it('lets others have their turn before the last is begun', async () => {
    let begun = 0;
    const atTheTurn: number[] = [];
    setImmediate(() => atTheTurn.push(begun));
    await makeFewAtATime(HUNDRED, (item) => {
      begun += 1;
      return Promise.resolve(item);
    });
    expect(atTheTurn).toEqual([expect.any(Number)]);
    expect(atTheTurn[0]).toBeLessThan(HUNDRED.length);
  });

  it('fails as a whole when an early one fails, also while others are still begun', async () => {
    const make = (item: number) => (item === 3 ? Promise.reject(new Error('no')) : Promise.resolve(item));
    await expect(makeFewAtATime(HUNDRED, make)).rejects.toThrow('no');
  });
});
