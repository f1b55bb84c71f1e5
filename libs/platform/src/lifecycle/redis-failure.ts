import type { Redis, RedisOptions } from 'ioredis';

/** Codes of Redis's refusals, in words for the operator. */
const WORDS: Readonly<Record<string, string>> = {
  OOM: 'Redis has reached its maxmemory and evicts nothing (noeviction): give it more memory, or look for what fills it.',
  READONLY:
    'REDIS_URL leads to a replica, which takes no writes: is a failover under way, or is the URL that of the old primary?',
  MISCONF: 'Redis cannot save to its disk and so takes no writes: its log says why.',
  BUSY: 'Redis is busy with a script: SCRIPT KILL ends it.',
  LOADING: 'Redis is loading its data.',
  MASTERDOWN: 'Redis has lost its primary.',
  NOREPLICAS: 'Redis has fewer replicas than min-replicas-to-write and takes no writes.',
  CLUSTERDOWN: 'The cluster of Redis is down.',
  TRYAGAIN: 'The cluster of Redis is moving keys.',
  NOAUTH: 'Redis asks for a password, which REDIS_URL lacks.',
  WRONGPASS: 'Redis refuses the user and password of REDIS_URL.',
  NOPERM: 'The user of REDIS_URL may not run the commands that are needed (ACL).',
};

/** A code, which Redis before version 7 gives behind other words when a script meets it. */
const CODE = new RegExp(`(?:^|[-: ])(${Object.keys(WORDS).join('|')})\\b`);

/** Reason why Redis cannot be used, in words for the operator. */
export function redisFailure(error: unknown): string {
  if (!isReply(error)) return 'Redis does not answer at the host and port of REDIS_URL.';
  const [, code = ''] = CODE.exec(error.message) ?? [];
  return WORDS[code] ?? `Redis answers with an error: ${/^[A-Z]*/.exec(error.message)?.[0] ?? ''}.`;
}

/** Its class is not exported under this name. */
interface ReplyError extends Error {
  readonly name: 'ReplyError';
}

/** Redis has answered, with an error. */
export function isReply(error: unknown): error is ReplyError {
  return error instanceof Error && error.name === 'ReplyError';
}

/** After a failover the same URL may lead to another server. */
export const FOLLOWS_FAILOVER: RedisOptions = {
  reconnectOnError: ({ message }) => message.startsWith('READONLY'),
};

const PROBE_MS = 60_000;

/** Rejects unless Redis takes a write. */
export async function probeRedis(redis: Redis, name: string): Promise<void> {
  await redis.set(`mailwright:probe:${name}`, '1', 'PX', PROBE_MS);
}
