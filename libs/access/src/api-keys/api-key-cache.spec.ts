import { describe, expect, it } from '@jest/globals';
import { ApiKeyCache } from './api-key-cache.js';

const keep = (cache: ApiKeyCache<string>, hash: string, now = 0) =>
  cache.keep(cache.beginReading(hash, now), hash);

describe('What is remembered of keys', () => {
  it('is forgotten when its time is over, counted from the beginning of the look-up', () => {
    const cache = new ApiKeyCache<string>(10, 1000);
    const reading = cache.beginReading('a', 0);
    cache.keep(reading, 'a');
    expect(cache.get('a', 999)).toBe('a');
    expect(cache.get('a', 1000)).toBeUndefined();
    expect(cache.get('a', 0)).toBeUndefined();
  });

  it('is forgotten when the clock is set back', () => {
    const cache = new ApiKeyCache<string>(10, 1000);
    keep(cache, 'a', 5000);
    expect(cache.get('a', 4999)).toBeUndefined();
  });

  it('gives up the key that was used longest ago when there is no room', () => {
    const cache = new ApiKeyCache<string>(2, 1000);
    keep(cache, 'a');
    keep(cache, 'b');
    expect(cache.get('a', 1)).toBe('a');
    keep(cache, 'c');
    expect(cache.get('b', 1)).toBeUndefined();
    expect(cache.get('a', 1)).toBe('a');
    expect(cache.get('c', 1)).toBe('c');
  });

  it('never holds what was read before the notification of a change', () => {
    const cache = new ApiKeyCache<string>(10, 1000);
    for (const notify of [() => cache.forget('a'), () => cache.forgetAll()]) {
      const reading = cache.beginReading('a', 0);
      notify();
      cache.keep(reading, 'stale');
      expect(cache.get('a', 1)).toBeUndefined();
    }
  });

  it('is forgotten at a notification', () => {
    const cache = new ApiKeyCache<string>(10, 1000);
    keep(cache, 'a');
    keep(cache, 'b');
    cache.forget('a');
    expect(cache.get('a', 1)).toBeUndefined();
    expect(cache.get('b', 1)).toBe('b');
    cache.forgetAll();
    expect(cache.get('b', 1)).toBeUndefined();
  });
});
