import { describe, expect, it } from '@jest/globals';
import { UnflushedOutcomes } from './unflushed-outcomes.js';

describe('outcomes that were not waited for', () => {
  it('come back when the server has crashed since, each once', () => {
    const outcomes = new UnflushedOutcomes<string>();
    expect(outcomes.written(1, ['a', 'b'], 10)).toEqual([]);
    expect(outcomes.written(1, ['c'], 20)).toEqual([]);
    expect(outcomes.written(2, ['d'], 30)).toEqual(['a', 'b', 'c']);
    expect(outcomes.written(2, [], 40)).toEqual([]);
    expect(outcomes.written(3, [], 50)).toEqual(['d']);
  });

  it('are forgotten once they are safe, and not by what was written before them or in another epoch', () => {
    const outcomes = new UnflushedOutcomes<string>();
    outcomes.written(1, ['a'], 10);
    outcomes.written(1, ['b'], 20);
    outcomes.flushed(2, 100);
    expect([outcomes.size, outcomes.newest()]).toEqual([2, ['b']]);
    outcomes.flushed(1, 20);
    expect(outcomes.newest()).toEqual(['b']);
    expect(outcomes.written(2, [], 30)).toEqual(['b']);
  });
});
