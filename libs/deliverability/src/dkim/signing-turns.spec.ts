import { describe, expect, it } from '@jest/globals';
import { SigningTurns } from './signing-turns.js';

describe('signing turns', () => {
  it('let so many be at it at once, in the order in which they came, and go on after a failure', async () => {
    const turns = new SigningTurns(2);
    const begun: number[] = [];
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
    const results = gates.map(({ promise }, index) =>
      turns
        .take(() => {
          begun.push(index);
          return promise;
        })
        .catch(() => 'failed'),
    );
    expect(begun).toEqual([0, 1]);
    gates[1]!.reject(new Error('no'));
    await results[1];
    expect(begun).toEqual([0, 1, 2]);
    gates[0]!.resolve(0);
    gates[2]!.resolve(2);
    await Promise.all([results[0], results[2]]);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    gates[3]!.resolve(3);
    gates[4]!.resolve(4);
    expect(await Promise.all(results)).toEqual([0, 'failed', 2, 3, 4]);
    await turns.take(() => Promise.resolve());
  });
});
