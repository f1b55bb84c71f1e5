import { domainToASCII } from 'node:url';

/** RFC 5321 §4.5.3.1: octets of a local part and of a path without its brackets. */
const MAX_LOCAL_OCTETS = 64;
const MAX_ADDRESS_OCTETS = 254;

/** RFC 5322 §3.2.3 dot-atom, widened by RFC 6531 §3.3 to UTF-8; quoted local parts are refused. */
const LOCAL_PART =
  /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\u{10ffff}-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\u{10ffff}-]+)*$/u;
/** RFC 1035 §2.3.1 with RFC 1123 §2.1: letters, digits and inner hyphens, 1–63 octets. */
const HOST_LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;
/** `domainToASCII` reads the host of a URL: it drops what follows `/`, `?`, `#` or `\\`, and decodes `%`. */
const NOT_IN_HOST = /[^A-Za-z0-9.\u0080-\u{10ffff}-]/u;
/** Names that `domainToASCII` would only lower-case: letters, digits and hyphens, no A-label, no address of a host. */
const PLAIN_HOST = /^(?!.*xn--)[a-z\d.-]+\.[a-z][a-z\d-]*$/i;
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Z}]/u;

/**
 * An e-mail address that can be sent to. `value` is as given (trimmed, NFC); `key`, lower-cased with the domain as A-labels, is
 * the same for all spellings of a mailbox. `+` tags and dots are kept: they belong to the owner.
 */
export interface EmailAddress {
  readonly value: string;
  readonly key: string;
  readonly localPart: string;
  /** The domain as lower-case A-labels (RFC 5890), as it goes into an SMTP command. */
  readonly domain: string;
}

export type EmailAddressResult = { readonly address: EmailAddress } | { readonly fault: string };

/** The address, or its fault in words for its owner. */
export function parseEmailAddress(input: string): EmailAddressResult {
  const value = input.trim().normalize('NFC');
  if (!value.isWellFormed()) return { fault: 'is not an e-mail address' };
  const at = value.lastIndexOf('@');
  if (at < 1 || at === value.length - 1) return { fault: 'is not an e-mail address' };
  if (UNPRINTABLE.test(value)) return { fault: 'contains spaces or control characters' };
  const localPart = value.slice(0, at);
  if (localPart.startsWith('"')) return { fault: 'has a quoted local part, which is not supported' };
  if (!LOCAL_PART.test(localPart)) return { fault: 'is not an e-mail address' };
  if (Buffer.byteLength(localPart) > MAX_LOCAL_OCTETS)
    return { fault: 'has more than 64 characters before the @' };
  const domain = hostName(value.slice(at + 1));
  if (domain === null) return { fault: 'does not have a valid domain' };
  if (
    Buffer.byteLength(localPart) + 1 + Math.max(domain.length, Buffer.byteLength(value.slice(at + 1))) >
    MAX_ADDRESS_OCTETS
  ) {
    return { fault: 'is longer than 254 characters' };
  }
  return { address: { value, key: `${localPart.toLowerCase()}@${domain}`, localPart, domain } };
}

/** A fully qualified host name as lower-case A-labels, or null when it is none. */
export function hostName(input: string): string | null {
  if (NOT_IN_HOST.test(input)) return null;
  const ascii = (PLAIN_HOST.test(input) ? input : domainToASCII(input.normalize('NFC'))).toLowerCase();
  const labels = ascii.split('.');
  const last = labels.at(-1) ?? '';
  if (labels.length < 2 || ascii.length > 253 || /^\d+$/.test(last)) return null;
  return labels.every((label) => HOST_LABEL.test(label)) ? ascii : null;
}

/** Characters around an `@` but those that set an address apart in a text. */
const ADDRESSES = /[^\s"<>()[\],;:]+@[^\s"<>()[\],;:]+/g;

/** The address as its owner alone recognises it: `a…@example.com`. */
export function maskAddress(address: string): string {
  const [first = ''] = address;
  return `${first === '@' ? '' : first}…${address.slice(address.lastIndexOf('@'))}`;
}

/** A text, such as the answer of a mail server, whose addresses are masked. */
export function maskAddresses(text: string): string {
  return text.replace(ADDRESSES, maskAddress);
}
