import { isIPv6 } from 'node:net';

/**
 * What one subscriber line of an access provider shares: an IPv4 address, or the first 64 bits of an IPv6
 * one (RFC 6177 §2), so that nobody has 2^64 limits.
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::');
  const leading = head === '' ? [] : head.split(':');
  const trailing = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - leading.length - trailing.length) }, () => '0');
  const groups = tail === undefined ? leading : [...leading, ...zeros, ...trailing];
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`;
}
