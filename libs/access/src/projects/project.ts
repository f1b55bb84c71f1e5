import { DomainValidationError, type Environment, parseEmailAddress, type ProjectScope } from '#kernel';
import { nameFault } from '../tenants/tenant.js';

/** A project, seen from one of its two environments. */
export interface ProjectProfile {
  readonly id: number;
  readonly projectKey: string;
  readonly name: string;
  readonly description: string | null;
  /** The name in From, when a campaign has none. */
  readonly senderName: string;
  /** Stands in the footer of every mail. */
  readonly postalAddress: string;
  readonly defaultFromEmail: string | null;
  /** Where answers go, when a campaign does not say; null: to the sender. */
  readonly replyTo: string | null;
  /** BCP 47: of readers whose own language is not known, or not shipped. */
  readonly defaultLocale: string;
  /** IANA: of subscribers whose own is not known. */
  readonly timeZone: string;
  /** https address of the picture above opt-in mails and pages. */
  readonly logoUrl: string | null;
  /** #rrggbb, of buttons and links; null: ours. */
  readonly color: string | null;
  /** The customer's host for links, pixels and pages; null: PUBLIC_URL's. It may not be checked yet. */
  readonly trackingHost: string | null;
  readonly aiSegmentSuggestionsEnabled: boolean;
  readonly environment: Environment;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A project as the operator sees it: with both of its environments. */
export interface ProjectWithEnvironments {
  readonly id: number;
  readonly tenantId: number;
  readonly tenantKey: string;
  readonly projectKey: string;
  readonly name: string;
  readonly live: ProjectScope;
  readonly test: ProjectScope;
}

export interface NewProject {
  readonly projectKey: string;
  readonly name: string;
  readonly description?: string | null;
  readonly senderName: string;
  readonly postalAddress: string;
  readonly defaultFromEmail?: string | null;
}

/** What the operator may change about a project; what is left out stays. */
export interface ProjectChanges {
  readonly name?: string;
  readonly description?: string | null;
  readonly senderName?: string;
  readonly postalAddress?: string;
  readonly defaultFromEmail?: string | null;
  readonly aiSegmentSuggestionsEnabled?: boolean;
}

const PROJECT_KEY = /^[A-Z][A-Z0-9]{1,7}$/;
const MAX_TEXT_LENGTH = 1000;
/** A display name is a word of one header line (RFC 5322 §2.1.1: 998 characters), read on a phone. */
const MAX_SENDER_NAME_LENGTH = 100;
const CONTROL = /\p{Cc}/u;

/** One product or brand that mail is sent for. */
export class Project {
  readonly id!: number;
  readonly tenantId: number;
  /** 2–8 of A–Z and 0–9, a letter first: what its topic, campaign … keys begin with. */
  readonly projectKey: string;
  name: string;
  description: string | null;
  senderName: string;
  postalAddress: string;
  defaultFromEmail: string | null;
  replyTo: string | null = null;
  defaultLocale = 'en';
  timeZone = 'UTC';
  logoUrl: string | null = null;
  color: string | null = null;
  trackingHost: string | null = null;
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

  /** What is left out stays. Throws `DomainValidationError`. */
  change(changes: ProjectChanges, now: Date): void {
    refuse(changeFaults(changes));
    const { description, defaultFromEmail } = changes;
    this.name = changes.name?.trim() ?? this.name;
    this.senderName = changes.senderName?.trim() ?? this.senderName;
    this.postalAddress = changes.postalAddress?.trim() ?? this.postalAddress;
    if (description !== undefined) this.description = description;
    if (defaultFromEmail !== undefined) this.defaultFromEmail = defaultFromEmail?.trim() ?? null;
    this.aiSegmentSuggestionsEnabled =
      changes.aiSegmentSuggestionsEnabled ?? this.aiSegmentSuggestionsEnabled;
    this.updatedAt = now;
  }
}

function refuse(faults: Record<string, string>): void {
  if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
}

/** What is wrong with a new project, by field; empty when nothing is. */
function projectFaults(project: NewProject): Record<string, string> {
  const keyFault = PROJECT_KEY.test(project.projectKey)
    ? null
    : 'must be 2 to 8 capital letters and digits, beginning with a letter';
  return { ...(keyFault === null ? {} : { projectKey: keyFault }), ...changeFaults(project) };
}

/** What is wrong with what is said about a project, by field; what is left out is well. */
function changeFaults(changes: ProjectChanges): Record<string, string> {
  const { name, description, senderName, postalAddress, defaultFromEmail } = changes;
  const faults: [string, string | null][] = [
    ['name', name === undefined ? null : nameFault(name)],
    [
      'description',
      (description ?? '').length > MAX_TEXT_LENGTH ? `must be at most ${MAX_TEXT_LENGTH} characters` : null,
    ],
    ['senderName', senderName === undefined ? null : senderNameFault(senderName)],
    ['postalAddress', postalAddress === undefined ? null : nameFault(postalAddress, MAX_TEXT_LENGTH)],
    ['defaultFromEmail', addressFault(defaultFromEmail ?? null)],
  ];
  return Object.fromEntries(faults.filter((entry): entry is [string, string] => entry[1] !== null));
}

function senderNameFault(senderName: string): string | null {
  if (CONTROL.test(senderName)) return 'must be one line';
  return nameFault(senderName, MAX_SENDER_NAME_LENGTH);
}

function addressFault(address: string | null): string | null {
  if (address === null) return null;
  const parsed = parseEmailAddress(address);
  return 'fault' in parsed ? parsed.fault : null;
}
