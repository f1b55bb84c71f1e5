import { randomBytes } from 'node:crypto';
import {
  DomainValidationError,
  patched,
  PUBLISHED_EVENT_TYPES,
  type PublishedEventType,
  type ProjectScope,
} from '#kernel';

export const ENDPOINT_STATUSES = ['ENABLED', 'DISABLED'] as const;
export type EndpointStatus = (typeof ENDPOINT_STATUSES)[number];

type AreaOf<Type> = Type extends `${infer Area}.${string}` ? Area : never;

/** Events that an endpoint listens to: a type, all of an area (`email.*`) or all (`*`), also types that come later. */
export type EventPattern = '*' | `${AreaOf<PublishedEventType>}.*` | PublishedEventType;

export const EVENT_PATTERNS: readonly EventPattern[] = [
  '*',
  ...new Set(PUBLISHED_EVENT_TYPES.map(areaOf)),
  ...PUBLISHED_EVENT_TYPES,
];

export interface NewEndpoint {
  readonly url: string;
  readonly description: string | null;
  readonly events: readonly EventPattern[];
}

/** Changes of an endpoint; undefined fields stay. */
export interface EndpointPatch {
  readonly url?: string | undefined;
  readonly description?: string | null | undefined;
  readonly events?: readonly EventPattern[] | undefined;
  readonly status?: EndpointStatus | undefined;
}

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
  eventTypes: EventPattern[];
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
    this.eventTypes = storedEvents(wanted.events);
    this.secret = secret;
    this.createdAt = now;
    this.updatedAt = now;
  }

  /** Changes the fields that are given. */
  change({ url, description, events, status }: EndpointPatch, now: Date): void {
    const patch = {
      url,
      description,
      eventTypes: events === undefined ? undefined : storedEvents(events),
      status,
      disabledReason: status === undefined ? undefined : null,
    };
    const fields = ['url', 'description', 'eventTypes', 'status', 'disabledReason'] as const;
    if (patched(this, fields, patch)) this.updatedAt = now;
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

function areaOf(type: PublishedEventType) {
  return `${type.split('.')[0] as AreaOf<PublishedEventType>}.*` as const;
}

/** True if an endpoint with these events, empty for all, listens to the type. */
export function listensTo(eventTypes: readonly string[], type: PublishedEventType): boolean {
  return eventTypes.length === 0 || eventTypes.includes(type) || eventTypes.includes(areaOf(type));
}

/** The fault of events to listen to, and the place of the one that has it; null where there is none. */
export function eventsFault(
  events: readonly EventPattern[],
): { readonly fault: string; readonly index?: number } | null {
  if (events.length === 0) return { fault: 'must name at least one; * stands for all' };
  const index = events.findIndex((event, place) => events.indexOf(event) < place);
  if (index !== -1) return { fault: `${events[index]} is named twice`, index };
  const isMore = events.includes('*') && events.length > 1;
  return isMore ? { fault: '* stands for all: name it alone' } : null;
}

/** Throws DomainValidationError. */
function storedEvents(events: readonly EventPattern[]): EventPattern[] {
  const found = eventsFault(events);
  if (found === null) return events.includes('*') ? [] : [...events];
  const { fault, index } = found;
  throw new DomainValidationError({ [index === undefined ? 'events' : `events[${index}]`]: fault });
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
  // The parser drops or encodes what PostgreSQL and HTTP do not take.
  const parsed = /[\s\p{Cc}\p{Cs}]/u.test(url) ? null : URL.parse(url);
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol))
    return 'must be an http or https URL';
  if (parsed.username !== '' || parsed.password !== '') return 'must not carry a user name or a password';
  if (url.length > 2_000) return 'must be at most 2000 characters';
  return null;
}
