export const SENDING_DOMAIN_STATUSES = [
  'PENDING_VERIFICATION',
  'ACTIVE',
  'VERIFICATION_FAILED',
  'DEGRADED',
  'SUSPENDED',
  'BLOCKED',
  'EXPIRED',
] as const;
export type SendingDomainStatus = (typeof SENDING_DOMAIN_STATUSES)[number];

/** CUSTOM is the customer's own; SYSTEM would be one that the operator lends. */
export const SENDING_DOMAIN_TYPES = ['CUSTOM', 'SYSTEM'] as const;
export type SendingDomainType = (typeof SENDING_DOMAIN_TYPES)[number];

/** Whether a domain of this status counts as the customer's, from whom mail may come. */
export function isVerified(status: SendingDomainStatus): boolean {
  return status === 'ACTIVE' || status === 'DEGRADED';
}

/** Whether the operator has stopped it: then the customer can neither change nor remove it. */
export function isStopped(status: SendingDomainStatus): boolean {
  return status === 'SUSPENDED' || status === 'BLOCKED';
}
