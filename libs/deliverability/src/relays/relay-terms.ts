export const RELAY_TLS = ['IMPLICIT', 'REQUIRED', 'OPPORTUNISTIC'] as const;
/** TLS from the first octet (RFC 8314 §3.3), STARTTLS or nothing, STARTTLS where it is offered. */
export type RelayTls = (typeof RELAY_TLS)[number];

export const RELAY_STREAMS = ['OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TRANSACTIONAL', 'TEST'] as const;
/** A kind of mail that a relay takes. */
export type RelayStream = (typeof RELAY_STREAMS)[number];

export const RELAY_SIGNING = ['OWN', 'RELAY'] as const;
/** Who signs with DKIM: we, with the sending domain's keys, or the relay alone. */
export type RelaySigning = (typeof RELAY_SIGNING)[number];

export const RELAY_STATUSES = ['ACTIVE', 'PAUSED', 'FAILING'] as const;
export type RelayStatus = (typeof RELAY_STATUSES)[number];

export const RELAY_OPTIONS = ['configurationSet', 'messageStream', 'region', 'domain'] as const;
/** What only some kinds take. */
export type RelayOption = (typeof RELAY_OPTIONS)[number];
export type RelayOptions = Partial<Readonly<Record<RelayOption, string>>>;
