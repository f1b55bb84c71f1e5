import type { ConsentStatus } from './consent.js';

export const SUBSCRIBER_STATUSES = [
  'SUPPRESSED',
  'COMPLAINED',
  'BOUNCED',
  'ACTIVE',
  'PENDING_CONFIRMATION',
  'UNSUBSCRIBED',
] as const;
export type SubscriberStatus = (typeof SUBSCRIBER_STATUSES)[number];

export const SUPPRESSION_REASONS = ['GLOBAL_UNSUBSCRIBE', 'SPAM_COMPLAINT', 'HARD_BOUNCE'] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** The status of a subscriber with a suppressed address, by reason. */
export const STATUS_OF_SUPPRESSED: Readonly<Record<SuppressionReason, SubscriberStatus>> = {
  GLOBAL_UNSUBSCRIBE: 'SUPPRESSED',
  SPAM_COMPLAINT: 'COMPLAINED',
  HARD_BOUNCE: 'BOUNCED',
};

/** The status of other subscribers, by the first of these consents that they have. */
export const STATUS_BY_CONSENT: readonly (readonly [ConsentStatus, SubscriberStatus])[] = [
  ['SUBSCRIBED', 'ACTIVE'],
  ['PENDING_CONFIRMATION', 'PENDING_CONFIRMATION'],
];

/** The status of subscribers with neither. */
export const STATUS_WITHOUT_CONSENT: SubscriberStatus = 'UNSUBSCRIBED';

/** Derives the status from the suppression of the address, if any, and from the consents. */
export function subscriberStatus(
  suppression: SuppressionReason | null,
  consents: readonly ConsentStatus[],
): SubscriberStatus {
  if (suppression !== null) return STATUS_OF_SUPPRESSED[suppression];
  const best = STATUS_BY_CONSENT.find(([consent]) => consents.includes(consent));
  return best?.[1] ?? STATUS_WITHOUT_CONSENT;
}
