import type { IncomingHttpHeaders } from 'node:http';
import type { TrackedRequest } from '#messaging';

/** The headers of prefetches: Sec-Purpose of the Fetch Standard, and its predecessors. */
const PURPOSES = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const;
const AHEAD = /prefetch|preview/i;

/** The facts of a request that tell people from machines. */
export function trackedRequestOf(method: string, headers: IncomingHttpHeaders): TrackedRequest {
  return {
    method,
    userAgent: headers['user-agent'],
    isPrefetch: PURPOSES.some((name) => isAhead(headers[name])),
  };
}

function isAhead(purpose: string | string[] | undefined): boolean {
  return purpose !== undefined && AHEAD.test(String(purpose));
}
