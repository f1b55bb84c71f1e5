import { parse } from 'tldts';
import { hostName } from '#kernel';

/** Room below the 253 characters of a host name (RFC 1035 §2.3.4) for `<selector>._domainkey.` and its like. */
const MAX_LENGTH = 200;

/** Reserved for trying out and for examples (RFC 6761 §6.2, §6.5): verified only where `DNS_SERVERS` has such zones. */
const FOR_TRIALS: ReadonlySet<string> = new Set(['test', 'example']);

/** On the list, and never in the DNS (RFC 7686 §2). */
const NEVER_IN_DNS = 'onion';

export type DomainNameResult = { readonly name: string } | { readonly fault: string };

/** The domain that `input` means, as lower-case A-labels (RFC 5890), or what keeps it from being a sending domain. */
export function parseDomainName(input: string): DomainNameResult {
  const name = hostName(input.trim());
  if (name === null) return { fault: 'is not a domain name such as news.example.com' };
  if (name.length > MAX_LENGTH) return { fault: `is longer than ${MAX_LENGTH} characters` };
  // The Public Suffix List: what nobody can register is nobody's.
  const { domain, isIcann, isPrivate, publicSuffix } = parse(name, { allowPrivateDomains: true });
  const isListed = isIcann === true || isPrivate === true || FOR_TRIALS.has(publicSuffix ?? '');
  if (domain === null || !isListed || publicSuffix === NEVER_IN_DNS)
    return { fault: 'is not a domain that one can register, or one below it' };
  return { name };
}

/** The zone that a registrar's form is about, and `host` as it is written there: `@` for the zone itself. */
export function relativeToZone(
  host: string,
  domainName: string,
): { readonly zone: string; readonly label: string } {
  const zone = parse(domainName, { allowPrivateDomains: true }).domain ?? domainName;
  return { zone, label: host === zone ? '@' : host.slice(0, -zone.length - 1) };
}
