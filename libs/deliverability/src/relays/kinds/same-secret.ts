import { hash, timingSafeEqual } from 'node:crypto';

/** Compares without telling by the time it takes how much is alike, or how long the secret is. */
export function sameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', secret, 'buffer'));
}
