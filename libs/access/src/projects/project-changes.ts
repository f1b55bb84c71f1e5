import {
  colourFault,
  hostName,
  isTimeZone,
  LOCALE_FAULT,
  parseColour,
  parseEmailAddress,
  parseLocale,
  SHIPPED_LOCALES,
  shippedLocale,
  TIME_ZONE_FAULT,
} from '#kernel';
import { nameFault } from '../tenants/tenant.js';

/** What its own keys, or the operator, may change about a project; what is left out stays. */
export interface ProjectChanges {
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
  readonly senderName?: string | undefined;
  readonly postalAddress?: string | undefined;
  readonly defaultFromEmail?: string | null | undefined;
  readonly replyTo?: string | null | undefined;
  readonly defaultLocale?: string | undefined;
  readonly timeZone?: string | undefined;
  readonly logoUrl?: string | null | undefined;
  readonly color?: string | null | undefined;
  readonly trackingHost?: string | null | undefined;
  readonly privacyUrl?: string | null | undefined;
  readonly contactEmail?: string | null | undefined;
  /** The operator's alone. */
  readonly aiSegmentSuggestionsEnabled?: boolean | undefined;
}

const MAX_TEXT_LENGTH = 1000;
/** A display name is a word of one header line (RFC 5322 §2.1.1: 998 characters), read on a phone. */
const MAX_SENDER_NAME_LENGTH = 100;
const MAX_URL_LENGTH = 2000;
const CONTROL = /\p{Cc}/u;

/** What is wrong with what is said about a project, by field; what is left out is well. */
export function changeFaults(changes: ProjectChanges): Record<string, string> {
  const faults: [string, string | null][] = [
    ['name', ifGiven(changes.name, nameFault)],
    ['description', ifGiven(changes.description, descriptionFault)],
    ['senderName', ifGiven(changes.senderName, senderNameFault)],
    ['postalAddress', ifGiven(changes.postalAddress, (text) => nameFault(text, MAX_TEXT_LENGTH))],
    ['defaultFromEmail', ifGiven(changes.defaultFromEmail, addressFault)],
    ['replyTo', ifGiven(changes.replyTo, addressFault)],
    ['defaultLocale', ifGiven(changes.defaultLocale, defaultLocaleFault)],
    ['timeZone', ifGiven(changes.timeZone, timeZoneFault)],
    ['brand.logoUrl', ifGiven(changes.logoUrl, webAddressFault)],
    ['brand.color', ifGiven(changes.color, colourFault)],
    ['trackingHost', ifGiven(changes.trackingHost, trackingHostFault)],
    ['privacyUrl', ifGiven(changes.privacyUrl, webAddressFault)],
    ['contactEmail', ifGiven(changes.contactEmail, addressFault)],
  ];
  return Object.fromEntries(faults.filter((entry): entry is [string, string] => entry[1] !== null));
}

/** Changes without faults as they are stored; only what is changed. */
export function settingsOf(changes: ProjectChanges): ProjectChanges {
  const { name, senderName, postalAddress, defaultFromEmail, replyTo, defaultLocale, color } = changes;
  const { trackingHost, contactEmail } = changes;
  const read = {
    ...changes,
    name: name?.trim(),
    senderName: senderName?.trim(),
    postalAddress: postalAddress?.trim(),
    defaultFromEmail: defaultFromEmail?.trim() ?? defaultFromEmail,
    replyTo: replyTo?.trim() ?? replyTo,
    contactEmail: contactEmail?.trim() ?? contactEmail,
    defaultLocale: parseLocale(defaultLocale ?? '') ?? undefined,
    color: parseColour(color ?? '') ?? color,
    trackingHost: hostName(trackingHost?.trim() ?? '') ?? trackingHost,
  };
  return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined));
}

/** Of the language for readers whose own is not known. */
export function defaultLocaleFault(text: string): string | null {
  const locale = parseLocale(text);
  if (locale === null) return LOCALE_FAULT;
  return shippedLocale([locale]) === null
    ? `must be one of the languages ${SHIPPED_LOCALES.join(', ')}`
    : null;
}

export function timeZoneFault(text: string): string | null {
  return isTimeZone(text) ? null : TIME_ZONE_FAULT;
}

/** Of a logo or a privacy policy. */
export function webAddressFault(text: string): string | null {
  const url = /^[^\s\p{Cc}\p{Cs}]+$/u.test(text) ? URL.parse(text) : null;
  if (url?.protocol !== 'https:') return 'must be an https URL';
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or a password';
  return text.length > MAX_URL_LENGTH ? `must be at most ${MAX_URL_LENGTH} characters` : null;
}

/** Of a host name alone; which hosts are refused besides depends on the installation's own. */
export function trackingHostFault(text: string): string | null {
  return hostName(text.trim()) === null
    ? 'must be a host name such as links.example.com, without scheme, port or path'
    : null;
}

function ifGiven<Value>(
  value: Value | null | undefined,
  faultOf: (value: Value) => string | null,
): string | null {
  return value === null || value === undefined ? null : faultOf(value);
}

function descriptionFault(text: string): string | null {
  return text.length > MAX_TEXT_LENGTH ? `must be at most ${MAX_TEXT_LENGTH} characters` : null;
}

function senderNameFault(senderName: string): string | null {
  if (CONTROL.test(senderName)) return 'must be one line';
  return nameFault(senderName, MAX_SENDER_NAME_LENGTH);
}

function addressFault(address: string): string | null {
  const parsed = parseEmailAddress(address);
  return 'fault' in parsed ? parsed.fault : null;
}
