import { DomainValidationError, type Environment, type ProjectScope } from '#kernel';
import { changeFaults, type ProjectChanges, settingsOf } from './project-changes.js';

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
  /** https address of the sender's privacy policy. */
  readonly privacyUrl: string | null;
  /** Whom readers write to about their data. */
  readonly contactEmail: string | null;
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

const PROJECT_KEY = /^[A-Z][A-Z0-9]{1,7}$/;

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
  privacyUrl: string | null = null;
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

  /** What is left out stays. Throws `DomainValidationError`. */
  change(changes: ProjectChanges, now: Date): void {
    refuse(changeFaults(changes));
    Object.assign(this, settingsOf(changes), { updatedAt: now });
  }
}

function refuse(faults: Readonly<Record<string, string>>): void {
  if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
}

/** What is wrong with a new project, by field; empty when nothing is. */
function projectFaults(project: NewProject): Record<string, string> {
  const keyFault = PROJECT_KEY.test(project.projectKey)
    ? null
    : 'must be 2 to 8 capital letters and digits, beginning with a letter';
  return { ...(keyFault === null ? {} : { projectKey: keyFault }), ...changeFaults(project) };
}
