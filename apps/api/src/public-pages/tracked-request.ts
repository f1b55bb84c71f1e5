import type { IncomingHttpHeaders } from 'node:http';
import type { TrackedRequest } from '#messaging';

/** Browsers say so when nobody asked to see it yet: Fetch Standard (Sec-Purpose), and what they sent before it. */
const PURPOSES = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const;
const AHEAD = /prefetch|preview/i;

/** What of a request tells who opened a mail or followed its link. */
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
