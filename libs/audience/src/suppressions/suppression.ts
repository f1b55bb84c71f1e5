import { DomainError, type EmailAddress, type ProjectScope } from '#kernel';
import type { SuppressionReason } from '../consents/consent.js';

/** An address that gets no mail from a project. It need not be a subscriber's. */
export class Suppression {
  readonly environmentId: number;
  readonly emailKey: string;
  /** As it was given. */
  readonly email: string;
  readonly reason: SuppressionReason;
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
    this.suppressedAt = now;
  }
}

/** The public view of a suppression. */
export type SuppressionDetails = Pick<Suppression, 'email' | 'reason' | 'suppressedAt'>;

/** A stored suppression: of an erased address only a keyed digest is left. */
export type StoredSuppression = Omit<SuppressionDetails, 'email'> & { readonly email: string | null };

/** The address is suppressed until it is removed from the suppression list. */
export class SuppressedError extends DomainError {
  override readonly code = 'suppressed';

  constructor() {
    super('The address is suppressed. Remove the suppression first, if its owner wants that.');
  }
}

/** Removing the suppression needs a confirmation by the caller. */
export class UnsuppressUnconfirmedError extends DomainError {
  override readonly code = 'confirmation-required';

  constructor() {
    super('Removing a suppression needs the header X-Confirm-Unsuppress: true.');
  }
}
