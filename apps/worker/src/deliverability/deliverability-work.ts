import {
  BounceReported,
  ComplaintReported,
  DomainVerificationRequested,
  DueDomainChecks,
  RemoveOldDomainData,
  RemoveOldReports,
  RemoveOldThrottling,
  UnsubscribeMailed,
} from '#deliverability';
import type { ContextWork } from '../context-work.js';
import { BounceServer } from './bounce-server.js';
import { CheckDomain } from './check-domain.job.js';
import { RecordBounce } from './record-bounce.job.js';
import { RecordComplaint } from './record-complaint.job.js';
import { UnsubscribeByMail } from './unsubscribe-by-mail.job.js';

export const deliverabilityWork: ContextWork = {
  jobs: [CheckDomain, RecordBounce, RecordComplaint, UnsubscribeByMail],
  events: [BounceReported, ComplaintReported, DomainVerificationRequested, UnsubscribeMailed],
  tasks: [DueDomainChecks, RemoveOldDomainData, RemoveOldReports, RemoveOldThrottling],
  parts: [BounceServer],
};
