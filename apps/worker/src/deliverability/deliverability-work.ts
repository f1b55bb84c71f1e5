import {
  BounceReported,
  ComplaintReported,
  DomainVerificationRequested,
  DueDomainChecks,
  RemoveOldDomainData,
  RemoveOldReports,
  RemoveOldThrottling,
} from '#deliverability';
import type { ContextWork } from '../context-work.js';
import { BounceServer } from './bounce-server.js';
import { CheckDomain } from './check-domain.job.js';
import { RecordBounce } from './record-bounce.job.js';
import { RecordComplaint } from './record-complaint.job.js';

export const deliverabilityWork: ContextWork = {
  jobs: [CheckDomain, RecordBounce, RecordComplaint],
  events: [BounceReported, ComplaintReported, DomainVerificationRequested],
  tasks: [DueDomainChecks, RemoveOldDomainData, RemoveOldReports, RemoveOldThrottling],
  parts: [BounceServer],
};
