import type { EmailAddress, ProjectScope } from '#kernel';
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
export type StandingSuppression = Omit<SuppressionDetails, 'email'> & { readonly email: string | null };
