import {
  BouncesReported,
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
import { RecordBounces } from './record-bounces.job.js';
import { RecordComplaint } from './record-complaint.job.js';
import { UnsubscribeByMail } from './unsubscribe-by-mail.job.js';

export const deliverabilityWork: ContextWork = {
  jobs: [CheckDomain, FindReportedMessages, RecordBounces, RecordComplaint, UnsubscribeByMail],
  events: [
    BouncesReported,
    ComplaintReported,
    DomainVerificationRequested,
    MessagesReported,
    UnsubscribeMailed,
  ],
  tasks: [DueDomainChecks, RemoveOldDomainData, RemoveOldReports, RemoveOldThrottling],
  parts: [BounceServer],
};
