import { isIPv4, isIPv6 } from 'node:net';

const MECHANISMS = ['all', 'include', 'a', 'mx', 'ptr', 'ip4', 'ip6', 'exists'] as const;
type MechanismName = (typeof MECHANISMS)[number];

/** A mechanism of an SPF record (RFC 7208 §5). */
export interface SpfMechanism {
  readonly qualifier: '+' | '-' | '~' | '?';
  readonly name: MechanismName;
  /** The host that it names, without a final dot; null for the domain itself. May hold macros. */
  readonly host: string | null;
}

export interface SpfRecord {
  readonly mechanisms: readonly SpfMechanism[];
  /** Followed only when there is no `all` (RFC 7208 §6.1). */
  readonly redirect: string | null;
}

export type ParsedSpf = { readonly record: SpfRecord } | { readonly fault: string };

const MECHANISM = /^(?<qualifier>[+?~-])?(?<name>[a-z0-9]+)(?<rest>[:/].*)?$/i;
const MODIFIER = /^(?<name>[a-z][a-z0-9._-]*)=(?<value>\S*)$/i;
const LABEL = /^[A-Za-z0-9_-]{1,63}$/;
/** RFC 7208 §7.1; what they stand for is known only while a mail is received. */
const WITH_MACROS = /^[A-Za-z0-9%{}_.+=,-]+$/;
const V4_LENGTH = '(?:3[0-2]|[12]?[0-9])';
const V6_LENGTH = '(?:12[0-8]|1[01][0-9]|[0-9]{1,2})';
const DUAL_LENGTH = new RegExp(`^(?<host>[^/]*?)(?:/${V4_LENGTH})?(?://${V6_LENGTH})?$`);
const V4_NETWORK = new RegExp(`^(?<address>[^/]+)(?:/${V4_LENGTH})?$`);
const V6_NETWORK = new RegExp(`^(?<address>[^/]+)(?:/${V6_LENGTH})?$`);

/** The records that are SPF's (RFC 7208 §4.5). */
export function spfRecords(found: readonly string[]): readonly string[] {
  return found.filter((text) => /^v=spf1(?: |$)/i.test(text.trim()));
}

/** Reads a record that begins with v=spf1. */
export function parseSpf(text: string): ParsedSpf {
  const mechanisms: SpfMechanism[] = [];
  const modifiers = new Map<string, string>();
  for (const term of text.trim().split(/ +/).slice(1)) {
    const { name, value } = MODIFIER.exec(term)?.groups ?? {};
    if (name !== undefined && value !== undefined) {
      const isTwice = modifiers.has(name.toLowerCase()) && /^(?:redirect|exp)$/i.test(name);
      if (isTwice) return { fault: `there are two ${name}=` };
      modifiers.set(name.toLowerCase(), value);
      continue;
    }
    const mechanism = parseMechanism(term);
    if (mechanism === null) return { fault: `"${term}" is not a part of SPF` };
    mechanisms.push(mechanism);
  }
  const redirect = modifiers.get('redirect') ?? null;
  if (redirect !== null && !isHost(redirect)) return { fault: 'redirect= names no host' };
  const hasAll = mechanisms.some(({ name }) => name === 'all');
  return { record: { mechanisms, redirect: hasAll || redirect === null ? null : withoutFinalDot(redirect) } };
}

function parseMechanism(term: string): SpfMechanism | null {
  const { qualifier = '+', name: written = '', rest = '' } = MECHANISM.exec(term)?.groups ?? {};
  const name = MECHANISMS.find((known) => known === written.toLowerCase());
  if (name === undefined) return null;
  const host = hostOf(name, rest);
  if (host === undefined) return null;
  const named = host === null ? null : withoutFinalDot(host);
  return { name, host: named, qualifier: qualifier as SpfMechanism['qualifier'] };
}

/** The host of a mechanism, or undefined when it may not be written so. `rest` begins with its colon or slash. */
function hostOf(name: MechanismName, rest: string): string | null | undefined {
  const value = rest.startsWith(':') ? rest.slice(1) : '';
  switch (name) {
    case 'all':
      return rest === '' ? null : undefined;
    case 'ip4':
      return isIPv4(V4_NETWORK.exec(value)?.groups?.['address'] ?? '') ? null : undefined;
    case 'ip6':
      return isIPv6(V6_NETWORK.exec(value)?.groups?.['address'] ?? '') ? null : undefined;
    case 'include':
    case 'exists':
      return isHost(value) ? value : undefined;
    case 'ptr':
      return rest === '' ? null : isHost(value) ? value : undefined;
    default:
      return withLengths(rest);
  }
}

/** Of `a` and `mx`, which may have a host, prefix lengths, or both. */
function withLengths(rest: string): string | null | undefined {
  if (!rest.startsWith(':')) return DUAL_LENGTH.exec(rest)?.groups?.['host'] === '' ? null : undefined;
  const host = DUAL_LENGTH.exec(rest.slice(1))?.groups?.['host'] ?? '';
  return isHost(host) ? host : undefined;
}

/** `spf.example.` is `spf.example`: the dot is allowed (RFC 7208 §7.1). */
function withoutFinalDot(host: string): string {
  return host.replace(/\.$/, '');
}

function isHost(text: string): boolean {
  if (text.length > 253) return false;
  if (text.includes('%')) return WITH_MACROS.test(text);
  return withoutFinalDot(text)
    .split('.')
    .every((label) => LABEL.test(label));
}
