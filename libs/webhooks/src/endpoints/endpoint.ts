import { randomBytes } from 'node:crypto';
import type { AnnouncementType } from '#kernel';

export type EndpointStatus = 'ENABLED' | 'DISABLED';

/** Where a project wants to be told of what happens. */
export interface Endpoint {
  readonly id: string;
  readonly url: string;
  readonly description: string | null;
  /** Empty: all. */
  readonly eventTypes: readonly AnnouncementType[];
  readonly status: EndpointStatus;
  readonly disabledReason: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const SECRET_BYTES = 32;

/** A signing secret as Standard Webhooks writes it: `whsec_` and 24 to 64 bytes in base64. */
export function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** What is wrong with a URL to be called, or null. */
export function urlFault(url: string): string | null {
  const parsed = URL.parse(url);
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol))
    return 'must be an http or https URL';
  if (parsed.username !== '' || parsed.password !== '') return 'must not carry a user name or a password';
  if (url.length > 2_000) return 'must be at most 2000 characters';
  return null;
}
