import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/** An address with a port, and IPv6 in brackets with or without one (RFC 3986 §3.2.2), as proxies write them. */
const WITH_PORT = /^(?:(?<v4>[\d.]+):\d{1,5}|\[(?<v6>[^\]]+)\](?::\d{1,5})?)$/;
const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/**
 * The IP address that `text` names, without port, brackets and zone; IPv4 that IPv6 wraps (RFC 4291 §2.5.5.2) as such.
 * Null when it names none.
 */
export function parseIpAddress(text: string): string | null {
  const trimmed = text.trim();
  const { v4, v6 } = WITH_PORT.exec(trimmed)?.groups ?? {};
  const address = (v4 ?? v6 ?? trimmed).replace(/%.*$/, '');
  return isIP(address) === 0 ? null : address.replace(MAPPED, '');
}

/** The first IP address of a list with commas between its parts, null when there is none. */
export function firstIpAddress(list: string): string | null {
  for (const part of list.split(',')) {
    const address = parseIpAddress(part);
    if (address !== null) return address;
  }
  return null;
}

/** The network of an IP address, which stands for many callers: /24 of IPv4, /48 of IPv6. Null for a text that is none. */
export function networkOf(text: string): string | null {
  const address = parseIpAddress(text);
  if (address === null) return null;
  if (isIPv4(address)) return address.replace(/\.\d+$/, '.0/24');
  return `${addressOf((valueOf(address) >> 80n) << 80n, 'ipv6')}/48`;
}

const BITS = { ipv4: 32, ipv6: 128 } as const;
const IPV4_IN_IPV6 = 96;
const NOT_A_NETWORK = 'must be an IP address or a network such as 203.0.113.0/24 or 2001:db8::/32';

/**
 * The network that `text` names, in its one spelling: `203.0.113.0/24`, `2001:db8::/32` (RFC 4632, RFC 5952); an address is one of
 * its own, and IPv4 that IPv6 wraps is IPv4.
 */
export function parseNetwork(text: string): { readonly network: string } | { readonly fault: string } {
  const [address = '', length, ...rest] = text.trim().split('/');
  if (isIP(address) === 0 || address.includes('%') || rest.length > 0) return { fault: NOT_A_NETWORK };
  const given = familyOf(address);
  if (length !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(length)) return { fault: NOT_A_NETWORK };
  const bits = Number(length ?? BITS[given]);
  if (bits > BITS[given]) return { fault: `must have a prefix of at most ${BITS[given]} bits` };
  const value = valueOf(address);
  const isWrapped = given === 'ipv6' && bits >= IPV4_IN_IPV6 && value >> 32n === 0xffffn;
  const family = isWrapped ? 'ipv4' : given;
  const prefix = isWrapped ? bits - IPV4_IN_IPV6 : bits;
  const hostBits = (1n << BigInt(BITS[family] - prefix)) - 1n;
  const own = isWrapped ? value & 0xffffffffn : value;
  const network = `${addressOf(own & ~hostBits, family)}/${prefix}`;
  return (own & hostBits) === 0n ? { network } : { fault: `has bits behind its prefix: write ${network}` };
}

/** True of the addresses in one of `networks`, which are addresses and CIDR: one of IPv6 has no IPv4 in it, not even `::/0`. */
export function addressesIn(networks: readonly string[]): (address: string) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const network of networks) {
    const [address = '', length] = network.split('/');
    const family = familyOf(address);
    lists[family].addSubnet(address, Number(length ?? BITS[family]), family);
  }
  return (address) => {
    if (isIPv4(address)) return lists.ipv4.check(address, 'ipv4');
    return isIPv6(address) && (lists.ipv6.check(address, 'ipv6') || lists.ipv4.check(address, 'ipv6'));
  };
}

/** All addresses of `network` are in one of `others`; all as `parseNetwork` writes them. */
export function isWithinNetworks(network: string, others: readonly string[]): boolean {
  const [address = '', length] = network.split('/');
  return addressesIn(others.filter((other) => Number(other.split('/')[1]) <= Number(length)))(address);
}

const familyOf = (address: string) => (isIPv4(address) ? 'ipv4' : 'ipv6');

/** The address as a number. */
function valueOf(address: string): bigint {
  if (isIPv4(address)) return address.split('.').reduce((value, octet) => (value << 8n) + BigInt(octet), 0n);
  // As URLs write it there is no IPv4 within.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (part = '') => part.split(':').filter((group) => group !== '');
  const [first, last] = [groups(head), groups(tail)];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return [...first, ...zeros, ...last].reduce((value, group) => (value << 16n) + BigInt(`0x${group}`), 0n);
}

function addressOf(value: bigint, family: keyof typeof BITS): string {
  const part = (index: number, bits: bigint) => (value >> (BigInt(index) * bits)) & ((1n << bits) - 1n);
  if (family === 'ipv4') return [3, 2, 1, 0].map((index) => part(index, 8n)).join('.');
  const groups = [7, 6, 5, 4, 3, 2, 1, 0].map((index) => part(index, 16n).toString(16)).join(':');
  return new URL(`http://[${groups}]`).hostname.slice(1, -1);
}
