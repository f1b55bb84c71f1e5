import { describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import { UnflushedOutcomes } from './unflushed-outcomes.js';

const [news, shop] = [1, 2].map((environmentId): ProjectScope => ({
  tenantId: 1,
  projectId: 1,
  environmentId,
  environment: 'LIVE',
})) as [ProjectScope, ProjectScope];

describe('outcomes that were not waited for', () => {
  it('come back when the server has crashed since, each once', () => {
    const outcomes = new UnflushedOutcomes<string>();
    expect(outcomes.written(news, 1, ['a', 'b'], 10)).toEqual([]);
    expect(outcomes.written(news, 1, ['c'], 20)).toEqual([]);
    expect(outcomes.written(news, 2, ['d'], 30)).toEqual(['a', 'b', 'c']);
    expect(outcomes.written(news, 2, [], 40)).toEqual([]);
    expect(outcomes.written(news, 3, [], 50)).toEqual(['d']);
  });

  it('come back for the environment alone whose server has crashed', () => {
    const outcomes = new UnflushedOutcomes<string>();
    outcomes.written(news, 1, ['a'], 10);
    outcomes.written(shop, 5, ['b'], 10);
    expect(outcomes.scopes).toEqual([news, shop]);
    expect(outcomes.written(news, 2, [], 20)).toEqual(['a']);
    expect(outcomes.scopes).toEqual([shop]);
    expect(outcomes.written(shop, 6, [], 20)).toEqual(['b']);
  });

  it('are forgotten once they are safe, and not by what was written before them or in another epoch', () => {
    const outcomes = new UnflushedOutcomes<string>();
    outcomes.written(news, 1, ['a'], 10);
    outcomes.written(news, 1, ['b'], 20);
    outcomes.flushed(news, 2, 100);
    outcomes.flushed(shop, 1, 100);
    outcomes.flushed(news, 1, 20);
    expect(outcomes.written(news, 2, [], 30)).toEqual(['b']);
    outcomes.written(news, 2, ['c'], 40);
    outcomes.flushed(news, 2, 50);
    expect(outcomes.scopes).toEqual([]);
  });
});
