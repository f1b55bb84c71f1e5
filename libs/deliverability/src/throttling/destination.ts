import { MAILBOX_PROVIDERS, type MailboxProvider } from './mailbox-providers.js';

/** How much a destination is sent. */
export interface DestinationLimit {
  /** Null: as much as there is, until it complains. */
  readonly mailsPerSecond: number | null;
  /** How many at once after a rest. */
  readonly burst: number;
}

/** What the operator sets. */
export interface LimitSettings {
  /** Times the providers' limits. */
  readonly scale: number;
  /** Mails a second to each domain that is no provider's; null: no limit. */
  readonly otherDomains: number | null;
}

const PROVIDER_OF_DOMAIN: ReadonlyMap<string, MailboxProvider> = new Map(
  MAILBOX_PROVIDERS.flatMap((provider) => provider.domains.map((domain) => [domain, provider] as const)),
);
const PROVIDERS: ReadonlyMap<string, MailboxProvider> = new Map(
  MAILBOX_PROVIDERS.map((provider) => [provider.name, provider]),
);

/** All domains of the providers, whose limits are known. */
export const PROVIDER_DOMAINS: readonly string[] = [...PROVIDER_OF_DOMAIN.keys()];

/** Where mail to an address goes: a mailbox provider by its name, otherwise the domain itself, in lower case. */
export function destinationOf(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
  return PROVIDER_OF_DOMAIN.get(domain)?.name ?? domain;
}

/** A destination's name where there are few of them: `other` for domains that are no provider's. */
export function providerOf(destination: string): string {
  return PROVIDERS.has(destination) ? destination : 'other';
}

/** The limit of a destination; a burst is a second's worth, and one mail at least. */
export function limitOf(destination: string, { scale, otherDomains }: LimitSettings): DestinationLimit {
  const provider = PROVIDERS.get(destination);
  const mailsPerSecond = provider === undefined ? otherDomains : provider.mailsPerSecond * scale;
  return { mailsPerSecond, burst: Math.max(1, mailsPerSecond ?? 1) };
}
