export const SUPPRESSION_REASONS = ['GLOBAL_UNSUBSCRIBE', 'SPAM_COMPLAINT', 'HARD_BOUNCE'] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** An address that gets no mail from a project. It need not be a subscriber's. */
export interface Suppression {
  /** As it was given. */
  readonly email: string;
  readonly reason: SuppressionReason;
  readonly suppressedAt: Date;
}
