import { defineEvent } from '#kernel';

/** A client or the schedule wants a domain's records looked at; the worker is to do it. */
export const DomainVerificationRequested = defineEvent<{ checkId: string }>(
  'deliverability.domain_verification_requested.v1',
);
