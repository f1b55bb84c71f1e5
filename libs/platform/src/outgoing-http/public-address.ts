import ipaddr from 'ipaddr.js';

/** Where IPv6 is globally routed (RFC 4291 §2.4): what lies outside may wrap an IPv4 address. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** RFC 6052 §2.1: the last 32 bits are an IPv4 address, which a translator of the network speaks to. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/** Azure's host agent, of every virtual machine: a public address that answers inside only. */
const HOST_AGENT = '168.63.129.16';

/**
 * True for an address of the public internet. Loopback, private, link-local (cloud metadata lives there), shared,
 * multicast and reserved ranges are not (RFC 6890), nor is IPv6 that wraps IPv4: mapped and NAT64 addresses are as
 * public as what they wrap; compatible ones, 6to4 and Teredo never are.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const plain = unwrapped(ipaddr.process(address));
  if (plain.range() !== 'unicast') return false;
  return plain instanceof ipaddr.IPv6 ? plain.match(GLOBAL_UNICAST) : plain.toString() !== HOST_AGENT;
}

function unwrapped(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (!(address instanceof ipaddr.IPv6) || !address.match(NAT64)) return address;
  return ipaddr.fromByteArray(address.toByteArray().slice(-4));
}
