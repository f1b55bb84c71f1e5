import type { SuppressionReason } from '../consents/subscriber-status.js';

/** An address that gets no mail from a project. It need not be a subscriber's. */
export interface Suppression {
  /** As it was given. */
  readonly email: string;
  readonly reason: SuppressionReason;
  readonly suppressedAt: Date;
}

/** The same as it is stored: of an address that was erased only a keyed digest is left. */
export type StandingSuppression = Omit<Suppression, 'email'> & { readonly email: string | null };
