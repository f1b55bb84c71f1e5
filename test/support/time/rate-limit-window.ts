import { Redis } from 'ioredis';
import { hashApiKey } from '../../../libs/access/src/api-key.js';
import type { TestDatabase } from '../postgres/database.js';

const HOUR_MS = 3_600_000;

/** Place where an api counts: in Redis where its variables say so. */
interface Counted {
  readonly database: TestDatabase;
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * Has the running window of a client, `key:<id>` or `client:<network>`, end an hour later, so that a test is in one window
 * however long its requests take. Redis counts by its own clock, which no test can move.
 */
export async function prolongWindow({ database, variables }: Counted, client: string): Promise<void> {
  const url = variables['REDIS_URL'];
  if (url !== undefined) return prolongInRedis(url, `mailwright:rate-limit:${client}`);
  const prolonged = await database.query(
    `update platform.rate_limit_windows set window_ends_at = window_ends_at + make_interval(secs => $2 / 1000)
     where key = $1 returning key`,
    [client, HOUR_MS],
  );
  if (prolonged.length !== 1) throw new Error(`${client} has no window.`);
}

/** The same for the client that an API key is. */
export async function prolongWindowOfKey(counted: Counted, apiKey: string): Promise<void> {
  const [key] = await counted.database.query<{ id: string }>(
    'select id from access.api_keys where key_hash = $1',
    [hashApiKey(apiKey)],
  );
  await prolongWindow(counted, `key:${key?.id}`);
}

async function prolongInRedis(url: string, key: string): Promise<void> {
  const redis = new Redis(url);
  try {
    const endsAt = Number(await redis.hget(key, 'ends')) + HOUR_MS;
    if ((await redis.pexpireat(key, endsAt)) !== 1) throw new Error(`${key} has no window.`);
    await redis.hset(key, 'ends', endsAt);
  } finally {
    redis.disconnect();
  }
}
