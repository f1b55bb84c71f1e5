import { hash } from 'node:crypto';
import { parseEmailAddress } from '#kernel';

/**
 * Tells apart the few addresses whose mails a relay gave one id, and names nobody: millions have the same. For events, which
 * hold no address.
 */
export function addressMark(address: string): string {
  const parsed = parseEmailAddress(address);
  const key = 'address' in parsed ? parsed.address.key : address.trim().toLowerCase();
  return hash('sha256', key, 'hex').slice(0, 6);
}
