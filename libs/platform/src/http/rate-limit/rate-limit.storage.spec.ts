import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { UnavailableError } from '#kernel';
import { letTimeGo, passTime, stopTime } from '#testing/time-limits';
import { RateLimitStorage } from './rate-limit.storage.js';
import type { WindowHit } from './shared-hits.js';

/** Answers when it is told to. */
class BusyStorage extends RateLimitStorage {
  readonly answer = Promise.withResolvers<WindowHit>();

  override ping = () => Promise.resolve();
  override reasonOf = () => null;
  override close = () => Promise.resolve();
  protected override count = () => this.answer.promise;
}

describe('While its storage is busy', () => {
  beforeEach(stopTime);
  afterEach(letTimeGo);

  it('the rate limit waits for it, as long as a checkpoint may take', async () => {
    const storage = new BusyStorage();
    const counted = storage.increment('key:1', 60_000, 60);
    passTime(4_999);
    storage.answer.resolve({ hits: 1, endsAtMs: 60_000, remainingMs: 60_000 });
    expect(await counted).toMatchObject({ totalHits: 1, isBlocked: false, resetAtSeconds: 60 });
  });

  it('the rate limit lets nobody through after that', async () => {
    const counted = new BusyStorage().increment('key:1', 60_000, 60);
    const refused = expect(counted).rejects.toThrow(UnavailableError);
    passTime(5_000);
    await refused;
  });
});
