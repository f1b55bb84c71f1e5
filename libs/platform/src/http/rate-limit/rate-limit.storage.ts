import type { ThrottlerStorage } from '@nestjs/throttler';
import { UnavailableError } from '#kernel';
import { SharedHits, type WindowHit } from './shared-hits.js';

/** A machine under load, or a checkpoint of the database, may take a second or two; that is no outage. */
const DEADLINE_MS = 5_000;

export type RateLimitRecord = Awaited<ReturnType<ThrottlerStorage['increment']>> & {
  /** Unix time in whole seconds. */
  readonly resetAtSeconds: number;
};

/** Where requests are counted in fixed windows, for all instances of the api together. Throws when it can't be asked. */
export abstract class RateLimitStorage implements ThrottlerStorage {
  readonly #hits = new SharedHits((key, windowMs, times) => this.#countInTime(key, windowMs, times));

  async increment(key: string, windowMs: number, limit: number): Promise<RateLimitRecord> {
    const { hits, endsAtMs, remainingMs } = await this.#hits.hit(key, windowMs);
    const timeToExpire = Math.max(1, Math.ceil(remainingMs / 1000));
    return {
      totalHits: hits,
      timeToExpire,
      isBlocked: hits > limit,
      timeToBlockExpire: timeToExpire,
      resetAtSeconds: Math.ceil(endsAtMs / 1000),
    };
  }

  /** Resolves when the storage can count; rejects otherwise. */
  abstract ping(): Promise<void>;

  /** Why `ping` was rejected, in words for the operator; null when nobody knows. */
  abstract reasonOf(error: unknown): string | null;

  abstract close(): Promise<void>;

  /** Counts so many hits; the window begins with the first one. Atomic. */
  protected abstract count(key: string, windowMs: number, times: number): Promise<WindowHit>;

  async #countInTime(key: string, windowMs: number, times: number): Promise<WindowHit> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new UnavailableError('The rate limit could not be looked up in time.', 1)),
      DEADLINE_MS,
    );
    try {
      return await Promise.race([this.count(key, windowMs, times), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}
