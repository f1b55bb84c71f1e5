import type { ThrottlerStorage } from '@nestjs/throttler';
import type pg from 'pg';
import { Gathered, UnavailableError, withTimeout } from '#kernel';
import { databaseFailure } from '../../database/database-failure.js';
import { ConnectionPool } from '../../database/connection-pool.js';
import type { Outage } from '../../lifecycle/outage.js';

/** The last of the hits that were counted. */
export interface WindowHit {
  /** Its number in the running window. */
  readonly hits: number;
  readonly endsAtMs: number;
  /** From now, by the storage's own clock. */
  readonly remainingMs: number;
}

/** Counts so many hits of a key at one moment. */
type Count = (key: string, windowMs: number, times: number) => Promise<WindowHit>;

/**
 * Counts hits of one key one after the other, and those that come meanwhile together: of a key that many use at once, each would
 * wait for the others in the storage. Each hit has a number of its own, in the order of arrival.
 */
export class SharedHits {
  readonly #hits: Gathered<string, { readonly windowMs: number; readonly times: number }, WindowHit>;

  constructor(count: Count) {
    this.#hits = new Gathered(async (key, waiting) => {
      const all = waiting.reduce((sum, { times }) => sum + times, 0);
      const last = await count(key, waiting[0]!.windowMs, all);
      let hits = last.hits - all;
      return waiting.map(({ times }) => ({ ...last, hits: (hits += times) }));
    });
  }

  hit(key: string, windowMs: number, times = 1): Promise<WindowHit> {
    return this.#hits.add(key, { windowMs, times });
  }
}

/** A machine under load, or a checkpoint of the database, may take a second or two; that is no outage. */
const DEADLINE_MS = 5_000;

export type RateLimitRecord = Awaited<ReturnType<ThrottlerStorage['increment']>> & {
  /** Unix time in whole seconds. */
  readonly resetAtSeconds: number;
};

/** Counts requests in fixed windows, for all instances of the api together. Throws when it can't be asked. */
export abstract class RateLimitStorage implements ThrottlerStorage {
  readonly #hits = new SharedHits((key, windowMs, times) => this.#countInTime(key, windowMs, times));

  increment(key: string, windowMs: number, limit: number): Promise<RateLimitRecord> {
    return this.hit(key, windowMs, limit);
  }

  /** Counts so many hits as one: it is blocked when the last of them is past the limit. */
  async hit(key: string, windowMs: number, limit: number, times = 1): Promise<RateLimitRecord> {
    const { hits, endsAtMs, remainingMs } = await this.#hits.hit(key, windowMs, times);
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

  /** Reason of a rejected `ping`, in words for the operator; null when it is unknown. */
  abstract reasonOf(error: unknown): string | null;

  abstract close(): Promise<void>;

  /** Counts so many hits; the window begins with the first one. Atomic. */
  protected abstract count(key: string, windowMs: number, times: number): Promise<WindowHit>;

  #countInTime(key: string, windowMs: number, times: number): Promise<WindowHit> {
    return withTimeout(this.count(key, windowMs, times), DEADLINE_MS, () => {
      throw new UnavailableError('The rate limit could not be looked up in time.', 1);
    });
  }
}

interface HitRow {
  readonly hits: number;
  readonly ends_at_ms: number;
  readonly remaining_ms: number;
}

const HIT = {
  name: 'hit_rate_limit',
  text: `select hits, (extract(epoch from window_ends_at) * 1000)::float8 as ends_at_ms,
      (extract(epoch from window_ends_at - clock_timestamp()) * 1000)::float8 as remaining_ms
    from platform.hit_rate_limits($1, $2, $3)`,
};

const CONNECTIONS = 2;
const PROBE_MS = 60_000;

/** Counts in an unlogged table, over connections of its own: a burst that waits in the database must not block the limit. */
export class PostgresRateLimitStorage extends RateLimitStorage {
  private readonly pool: pg.Pool;

  /** `outage` is the database's. */
  constructor(databaseUrl: string, outage?: Outage) {
    super();
    const options = {
      connectionString: databaseUrl,
      outage,
      role: 'mailwright_app' as const,
      max: CONNECTIONS,
      // Kept while idle: on a busy server, opening one may take longer than a count has time.
      idleTimeoutMillis: 0,
      application_name: 'mailwright-rate-limit',
    };
    this.pool = new ConnectionPool(options);
  }

  protected override async count(key: string, windowMs: number, times: number): Promise<WindowHit> {
    const { rows } = await this.pool.query<HitRow>({ ...HIT, values: [key, windowMs / 1000, times] });
    const [row] = rows;
    if (row === undefined) throw new Error('The rate limit was not counted.');
    return { hits: row.hits, endsAtMs: row.ends_at_ms, remainingMs: row.remaining_ms };
  }

  override async ping(): Promise<void> {
    await this.count('probe', PROBE_MS, 1);
  }

  override reasonOf(error: unknown): string | null {
    return databaseFailure(error)?.message ?? null;
  }

  override async close(): Promise<void> {
    await this.pool.end();
  }
}
