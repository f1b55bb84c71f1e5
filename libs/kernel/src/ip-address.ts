import { isIP, isIPv4 } from 'node:net';

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
  const [head = '', tail] = address.toLowerCase().split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0');
  const groups = [...first, ...(tail === undefined ? [] : zeros), ...last].slice(0, 3);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/48`;
}
