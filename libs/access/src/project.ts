import {
  colourFault,
  DomainError,
  DomainValidationError,
  type Environment,
  hostName,
  isTimeZone,
  LOCALE_FAULT,
  parseColour,
  parseEmailAddress,
  parseLocale,
  patched,
  type ProjectScope,
  SHIPPED_LOCALES,
  shippedLocale,
  TIME_ZONE_FAULT,
} from '#kernel';
import { lengthFault, nameFault, textFault } from './tenant.js';

const SETTINGS = [
  'name',
  'description',
  'senderName',
  'postalAddress',
  'defaultFromEmail',
  'replyTo',
  'defaultLocale',
  'timeZone',
  'logoUrl',
  'color',
  'trackingHost',
  'privacyUrl',
  'contactEmail',
  'aiSegmentSuggestionsEnabled',
] as const;
type Setting = (typeof SETTINGS)[number];
export const PROFILE_FIELDS = ['id', 'projectKey', ...SETTINGS, 'createdAt', 'updatedAt'] as const;

/** A project, seen from one of its two environments. */
export type ProjectProfile = Readonly<Pick<Project, (typeof PROFILE_FIELDS)[number]>> & {
  readonly environment: Environment;
};

/** A project as the operator sees it: with both of its environments. */
export interface ProjectWithEnvironments {
  readonly id: number;
  readonly tenantId: number;
  readonly tenantKey: string;
  readonly projectKey: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly live: ProjectScope;
  readonly test: ProjectScope;
}

export type NewProject = Pick<Project, 'projectKey' | 'name' | 'senderName' | 'postalAddress'> &
  Partial<Pick<Project, 'description' | 'defaultFromEmail'>>;

/** Changes of a project by its own keys or the operator, who alone turns AI on; fields left out stay. */
export type ProjectChanges = { readonly [Name in Setting]?: Project[Name] | undefined };

/** The tenant has a project with this key. */
export class ProjectAlreadyExistsError extends DomainError {
  override readonly code = 'already-exists';

  constructor(readonly projectKey: string) {
    super(`The tenant already has a project with the key ${projectKey}.`);
  }
}

const PROJECT_KEY = /^[A-Z][A-Z0-9]{1,7}$/;
const MAX_TEXT_LENGTH = 1000;
/** A display name is a word of one header line (RFC 5322 §2.1.1: 998 characters), read on a phone. */
const MAX_SENDER_NAME_LENGTH = 100;
const MAX_URL_LENGTH = 2000;

/** One product or brand that mail is sent for. */
export class Project {
  readonly id!: number;
  readonly tenantId: number;
  /** 2–8 of A–Z and 0–9, a letter first: what its topic, campaign … keys begin with. */
  readonly projectKey: string;
  name: string;
  description: string | null;
  /** The name in From, when a campaign has none. */
  senderName: string;
  /** Stands in the footer of every mail. */
  postalAddress: string;
  defaultFromEmail: string | null;
  /** Address for answers, when a campaign has none; null: the sender. */
  replyTo: string | null = null;
  /** BCP 47: of readers whose own language is not known, or not shipped. */
  defaultLocale = 'en';
  /** IANA: of subscribers whose own is not known. */
  timeZone = 'UTC';
  /** https address of the picture above opt-in mails and pages. */
  logoUrl: string | null = null;
  /** #rrggbb, of buttons and links; null: ours. */
  color: string | null = null;
  /** The customer's host for links, pixels and pages; null: PUBLIC_URL's. It may not be checked yet. */
  trackingHost: string | null = null;
  /** https address of the sender's privacy policy. */
  privacyUrl: string | null = null;
  /** Address for questions of readers about their data. */
  contactEmail: string | null = null;
  aiSegmentSuggestionsEnabled = false;
  readonly createdAt: Date;
  updatedAt: Date;

  /** Throws `DomainValidationError`. */
  constructor(tenantId: number, wanted: NewProject, now: Date) {
    refuse(projectFaults(wanted));
    this.tenantId = tenantId;
    this.projectKey = wanted.projectKey;
    this.name = wanted.name.trim();
    this.description = wanted.description ?? null;
    this.senderName = wanted.senderName.trim();
    this.postalAddress = wanted.postalAddress.trim();
    this.defaultFromEmail = wanted.defaultFromEmail?.trim() ?? null;
    this.createdAt = now;
    this.updatedAt = now;
  }

  /** Fields left out stay. Throws `DomainValidationError`. */
  change(changes: ProjectChanges, now: Date): void {
    refuse(changeFaults(changes));
    if (patched(this, SETTINGS, settingsOf(changes))) this.updatedAt = now;
  }
}

function refuse(faults: Readonly<Record<string, string>>): void {
  if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
}

/** Fault of a project's key, or null. */
export function projectKeyFault(text: string): string | null {
  return PROJECT_KEY.test(text) ? null : 'must be 2 to 8 capital letters and digits, beginning with a letter';
}

/** Faults of a new project, by field. */
function projectFaults(project: NewProject): Record<string, string> {
  const keyFault = projectKeyFault(project.projectKey);
  return { ...(keyFault === null ? {} : { projectKey: keyFault }), ...changeFaults(project) };
}

/** Faults of changes, by field. */
export function changeFaults(changes: ProjectChanges): Record<string, string> {
  const faults: [string, string | null][] = [
    ['name', ifGiven(changes.name, nameFault)],
    ['description', ifGiven(changes.description, (text) => lengthFault(text, MAX_TEXT_LENGTH))],
    ['senderName', ifGiven(changes.senderName, (name) => nameFault(name, MAX_SENDER_NAME_LENGTH))],
    ['postalAddress', ifGiven(changes.postalAddress, (text) => textFault(text, MAX_TEXT_LENGTH))],
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
function settingsOf(changes: ProjectChanges): ProjectChanges {
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

/** Fault of the language for readers whose own is not known. */
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

/** Fault of the address of a logo or a privacy policy. */
export function webAddressFault(text: string): string | null {
  const url = /^[^\s\p{Cc}\p{Cs}]+$/u.test(text) ? URL.parse(text) : null;
  if (url?.protocol !== 'https:') return 'must be an https URL';
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or a password';
  return lengthFault(text, MAX_URL_LENGTH);
}

/** Fault of a host name by itself; the service refuses the installation's own besides. */
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

function addressFault(address: string): string | null {
  const parsed = parseEmailAddress(address);
  return 'fault' in parsed ? parsed.fault : null;
}
