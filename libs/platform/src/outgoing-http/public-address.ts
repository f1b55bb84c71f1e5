import ipaddr from 'ipaddr.js';

/**
 * True for an address of the public internet. Loopback, private, link-local (cloud metadata lives there), shared,
 * multicast and reserved ranges are not, nor are IPv6 forms that carry an IPv4 address of those (RFC 6890).
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  return ipaddr.process(address).range() === 'unicast';
}
