import { boundedErrors, DomainError, type EmailAddress, type ProjectScope } from '#kernel';
import type { SuppressionReason } from '../consents/consent.js';

/** Mail that a suppression bars. MARKETING: all that needs consent, and asking for it; ALL: messages to one person, too. */
export const SUPPRESSED_STREAMS = ['ALL', 'MARKETING'] as const;
export type SuppressedStreams = (typeof SUPPRESSED_STREAMS)[number];

/** A stream of mail. TRANSACTIONAL: messages to one person, which need no consent. */
export type MailStream = 'MARKETING' | 'TRANSACTIONAL';

/** Streams that each reason bars, unless its cause demands more. */
export const STREAMS_OF_REASON: Readonly<Record<SuppressionReason, SuppressedStreams>> = {
  GLOBAL_UNSUBSCRIBE: 'MARKETING',
  SPAM_COMPLAINT: 'MARKETING',
  HARD_BOUNCE: 'ALL',
  BLOCKED: 'ALL',
};

/** True when a suppression of these streams bars mail of `stream`. */
export const bars = (streams: SuppressedStreams, stream: MailStream): boolean =>
  streams === 'ALL' || stream === 'MARKETING';

/** An address that gets no mail, or no marketing, from a project. It need not be a subscriber's. */
export class Suppression {
  readonly environmentId: number;
  readonly emailKey: string;
  /** As it was given. */
  readonly email: string;
  readonly reason: SuppressionReason;
  readonly streams: SuppressedStreams;
  readonly suppressedAt: Date;

  constructor(
    { environmentId }: ProjectScope,
    { key, value }: Pick<EmailAddress, 'value' | 'key'>,
    reason: SuppressionReason,
    now: Date,
  ) {
    this.environmentId = environmentId;
    this.emailKey = key;
    this.email = value;
    this.reason = reason;
    this.streams = STREAMS_OF_REASON[reason];
    this.suppressedAt = now;
  }
}

/** The public view of a suppression. */
export type SuppressionDetails = Pick<Suppression, 'email' | 'reason' | 'streams' | 'suppressedAt'>;

/** A stored suppression: of an erased address only a keyed digest is left. */
export type StoredSuppression = Omit<SuppressionDetails, 'email'> & { readonly email: string | null };

/** The address is suppressed until it is removed from the suppression list. */
export class SuppressedError extends DomainError {
  override readonly code = 'suppressed';

  /** `recipients` maps the paths of suppressed addresses (`cc[1]`) to messages, where the request has several addresses. */
  constructor(readonly recipients: Readonly<Record<string, string>> = {}) {
    super('The address is suppressed. Remove the suppression first, if its owner wants that.');
  }

  override get members(): Readonly<Record<string, unknown>> {
    return Object.keys(this.recipients).length === 0 ? {} : { recipients: boundedErrors(this.recipients) };
  }
}

/** Removing the suppression needs a confirmation by the caller. */
export class UnsuppressUnconfirmedError extends DomainError {
  override readonly code = 'confirmation-required';

  constructor() {
    super('Removing a suppression needs the header X-Confirm-Unsuppress: true.');
  }
}
