import type pg from 'pg';
import { databaseFailure } from '../../database/database-failure.js';
import { sessionPool } from '../../database/session.js';
import type { Outage } from '../../lifecycle/outage.js';
import { RateLimitStorage } from './rate-limit.storage.js';
import type { WindowHit } from './shared-hits.js';

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

/** Enough: a count takes less than a millisecond. */
const CONNECTIONS = 2;
const PROBE_MS = 60_000;

/**
 * Counts in an unlogged table of PostgreSQL, over connections of its own: a burst of requests that wait for
 * each other in the database must not make the limit unavailable.
 */
export class PostgresRateLimitStorage extends RateLimitStorage {
  private readonly pool: pg.Pool;

  /** `outage` is the database's. */
  constructor(databaseUrl: string, outage?: Outage) {
    super();
    const options = {
      connectionString: databaseUrl,
      outage,
      max: CONNECTIONS,
      // Kept while idle: on a busy server, opening one may take longer than a count has time.
      idleTimeoutMillis: 0,
      application_name: 'mailwright-rate-limit',
    };
    this.pool = sessionPool(options, 'mailwright_app');
    // An idle client whose server went away emits 'error'; the pool has dropped it already.
    this.pool.on('error', () => undefined);
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
