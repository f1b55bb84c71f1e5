import { DomainVerificationRequested, DueDomainChecks, RemoveOldDomainData } from '#deliverability';
import type { ContextWork } from '../context-work.js';
import { CheckDomain } from './check-domain.job.js';

export const deliverabilityWork: ContextWork = {
  jobs: [CheckDomain],
  events: [DomainVerificationRequested],
  tasks: [DueDomainChecks, RemoveOldDomainData],
  parts: [],
};
