import {
  BounceReported,
  ComplaintReported,
  DomainVerificationRequested,
  DueDomainChecks,
  MessagesReported,
  RemoveOldDomainData,
  RemoveOldReports,
  RemoveOldThrottling,
  UnsubscribeMailed,
} from '#deliverability';
import type { ContextWork } from '../context-work.js';
import { BounceServer } from './bounce-server.js';
import { CheckDomain } from './check-domain.job.js';
import { FindReportedMessages } from './find-reported-messages.job.js';
import { RecordBounce } from './record-bounce.job.js';
import { RecordComplaint } from './record-complaint.job.js';
import { UnsubscribeByMail } from './unsubscribe-by-mail.job.js';

export const deliverabilityWork: ContextWork = {
  jobs: [CheckDomain, FindReportedMessages, RecordBounce, RecordComplaint, UnsubscribeByMail],
  events: [
    BounceReported,
    ComplaintReported,
    DomainVerificationRequested,
    MessagesReported,
    UnsubscribeMailed,
  ],
  tasks: [DueDomainChecks, RemoveOldDomainData, RemoveOldReports, RemoveOldThrottling],
  parts: [BounceServer],
};
