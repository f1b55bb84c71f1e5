import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { UnavailableError } from '#kernel';
import { letTimeGo, passTime, stopTime } from '#testing/time-limits';
import { RateLimitStore, type WindowHit } from './rate-limit.js';
import { RateLimiter } from './rate-limiter.js';

/** Answers when it is told to. */
class BusyStore extends RateLimitStore {
  readonly answer = Promise.withResolvers<WindowHit>();

  override hit = () => this.answer.promise;
  override ping = () => Promise.resolve();
  override close = () => Promise.resolve();
}

describe('While its store is busy', () => {
  beforeEach(stopTime);
  afterEach(letTimeGo);

  it('the rate limit waits for it, as long as a checkpoint may take', async () => {
    const store = new BusyStore();
    const counted = new RateLimiter(store, 60).countFailure('203.0.113.7');
    passTime(4_999);
    store.answer.resolve({ hits: 1, endsAtMs: 60_000, remainingMs: 60_000 });
    expect(await counted).toMatchObject({ limit: 60, remaining: 59, exceeded: false });
  });

  it('the rate limit lets nobody through after that', async () => {
    const counted = new RateLimiter(new BusyStore(), 60).countFailure('203.0.113.7');
    const refused = expect(counted).rejects.toThrow(UnavailableError);
    passTime(5_000);
    await refused;
  });
});
