import { randomBytes } from 'node:crypto';
import type { PublishedEventType, ProjectScope } from '#kernel';

export type EndpointStatus = 'ENABLED' | 'DISABLED';

export interface NewEndpoint {
  readonly url: string;
  readonly description: string | null;
  /** Empty: all. */
  readonly eventTypes: readonly PublishedEventType[];
}

export type EndpointPatch = Partial<NewEndpoint & { readonly status: EndpointStatus }>;

type Owner = Pick<ProjectScope, 'environmentId' | 'projectId'>;

const HOUR_MS = 3_600_000;

/** A URL at which a project receives events. */
export class Endpoint {
  readonly id: string;
  readonly environmentId: number;
  readonly projectId: number;
  url: string;
  description: string | null;
  /** Empty: all. */
  eventTypes: PublishedEventType[];
  /** Sealed, as the previous one, which signs beside it until its end. */
  secret: string;
  previousSecret: string | null = null;
  previousSecretUntil: Date | null = null;
  status: EndpointStatus = 'ENABLED';
  disabledReason: string | null = null;
  readonly createdAt: Date;
  updatedAt: Date;

  constructor(id: string, owner: Owner, wanted: NewEndpoint, secret: string, now: Date) {
    this.id = id;
    this.environmentId = owner.environmentId;
    this.projectId = owner.projectId;
    this.url = wanted.url;
    this.description = wanted.description;
    this.eventTypes = [...wanted.eventTypes];
    this.secret = secret;
    this.createdAt = now;
    this.updatedAt = now;
  }

  /** Changes the fields that are given. */
  change({ url, description, eventTypes, status }: EndpointPatch, now: Date): void {
    this.url = url ?? this.url;
    if (description !== undefined) this.description = description;
    if (eventTypes !== undefined) this.eventTypes = [...eventTypes];
    if (status !== undefined) this.disabledReason = null;
    this.status = status ?? this.status;
    this.updatedAt = now;
  }

  /** Sets a new secret, sealed; the previous one signs beside it for `overlapHours`. */
  rotateSecret(secret: string, overlapHours: number, now: Date): void {
    this.previousSecret = this.secret;
    this.previousSecretUntil = new Date(now.getTime() + overlapHours * HOUR_MS);
    this.secret = secret;
    this.updatedAt = now;
  }

  /** Stops deliveries. An endpoint that is disabled already keeps its reason. */
  disable(reason: string, now: Date): void {
    if (this.status === 'DISABLED') return;
    this.status = 'DISABLED';
    this.disabledReason = reason;
    this.updatedAt = now;
  }
}

const SECRET_BYTES = 32;

/** A signing secret as Standard Webhooks writes it: `whsec_` and 24 to 64 bytes in base64. */
export function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** The context in which an endpoint's signing secret is sealed. */
export function secretContext({ projectId, environmentId }: Owner) {
  return { purpose: 'webhook-secret', owner: { projectId, environmentId } };
}

/** Returns the fault of a URL to be called, or null. */
export function urlFault(url: string): string | null {
  const parsed = URL.parse(url);
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol))
    return 'must be an http or https URL';
  if (parsed.username !== '' || parsed.password !== '') return 'must not carry a user name or a password';
  if (url.length > 2_000) return 'must be at most 2000 characters';
  return null;
}
