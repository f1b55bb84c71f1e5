/** One counted hit of a window. */
export interface WindowHit {
  /** Hits in the running window, what was counted included. */
  readonly hits: number;
  readonly endsAtMs: number;
  /** From now, by the store's own clock. */
  readonly remainingMs: number;
}

/** Where the hits are counted, for all instances of the api together. */
export abstract class RateLimitStore {
  /** Counts so many hits; the window begins with the first one and lasts `windowSeconds`. Atomic. */
  abstract hit(key: string, windowSeconds: number, times: number): Promise<WindowHit>;

  /** Answers when the store does; rejects otherwise. */
  abstract ping(): Promise<void>;

  abstract close(): Promise<void>;
}

/** Where a caller stands in its window. */
export interface RateLimit {
  readonly limit: number;
  readonly remaining: number;
  /** Unix time in whole seconds. */
  readonly resetAtSeconds: number;
  /** At least 1. */
  readonly retryAfterSeconds: number;
  readonly exceeded: boolean;
}

/** What `limit` says about a hit. */
export function rateLimitOf(limit: number, { hits, endsAtMs, remainingMs }: WindowHit): RateLimit {
  return {
    limit,
    remaining: Math.max(0, limit - hits),
    resetAtSeconds: Math.ceil(endsAtMs / 1000),
    retryAfterSeconds: Math.max(1, Math.ceil(remainingMs / 1000)),
    exceeded: hits > limit,
  };
}
