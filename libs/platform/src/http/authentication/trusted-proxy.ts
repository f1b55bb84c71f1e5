import { BlockList, isIPv4 } from 'node:net';

/** RFC 1918 §3, RFC 4193 §3.1, loopback and link-local: where proxies of one's own stand. */
const PRIVATE_RANGES = [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['::1', 128],
] as const;

const privateAddresses = new BlockList();
for (const [network, prefix] of PRIVATE_RANGES) {
  privateAddresses.addSubnet(network, prefix, isIPv4(network) ? 'ipv4' : 'ipv6');
}

/**
 * Which hops of X-Forwarded-For are believed: the one that connects to us, and further ones on private
 * networks. What a client puts into the header itself stands left of those and is not.
 */
export function isTrustedProxy(address: string, hop: number): boolean {
  if (hop === 0) return true;
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  return privateAddresses.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
}
