import type { ThrottlerStorage } from '@nestjs/throttler';
import type pg from 'pg';
import { UnavailableError, withTimeout } from '#kernel';
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

type Waiting = Pick<PromiseWithResolvers<WindowHit>, 'resolve' | 'reject'>;

/**
 * Counts hits of one key one after the other, and those that come meanwhile together: of a key that many use at once, each would
 * wait for the others in the storage. Each hit has a number of its own, in the order of arrival.
 */
export class SharedHits {
  /** The hits that wait, of each key of which some are being counted. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(private readonly count: Count) {}

  hit(key: string, windowMs: number): Promise<WindowHit> {
    const hit = Promise.withResolvers<WindowHit>();
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) {
      this.#waiting.set(key, []);
      void this.#countAll(key, windowMs, [hit]);
    } else waiting.push(hit);
    return hit.promise;
  }

  async #countAll(key: string, windowMs: number, first: readonly Waiting[]): Promise<void> {
    let together = first;
    while (together.length > 0) {
      await this.#countTogether(key, windowMs, together);
      together = this.#waiting.get(key) ?? [];
      if (together.length > 0) this.#waiting.set(key, []);
    }
    this.#waiting.delete(key);
  }

  async #countTogether(key: string, windowMs: number, together: readonly Waiting[]): Promise<void> {
    try {
      const last = await this.count(key, windowMs, together.length);
      const before = last.hits - together.length;
      for (const [index, { resolve }] of together.entries()) resolve({ ...last, hits: before + index + 1 });
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
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
