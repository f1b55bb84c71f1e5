import { TrackingHostCheckRequested } from '#access';
import {
  BouncesReported,
  ComplaintReported,
  DomainVerificationRequested,
  DueDomainChecks,
  DueTrackingHostChecks,
  MessagesReported,
  RemoveOldDomainData,
  RemoveOldReports,
  RemoveOldThrottling,
  UnsubscribeMailed,
} from '#deliverability';
import type { ContextWork } from '../context-work.js';
import { BounceServer } from './bounce-server.js';
import { CheckDomain } from './check-domain.job.js';
import { CheckTrackingHost } from './check-tracking-host.job.js';
import { FindReportedMessages } from './find-reported-messages.job.js';
import { RecordBounces } from './record-bounces.job.js';
import { RecordComplaint } from './record-complaint.job.js';
import { UnsubscribeByMail } from './unsubscribe-by-mail.job.js';

export const deliverabilityWork: ContextWork = {
  jobs: [
    CheckDomain,
    CheckTrackingHost,
    FindReportedMessages,
    RecordBounces,
    RecordComplaint,
    UnsubscribeByMail,
  ],
  events: [
    BouncesReported,
    ComplaintReported,
    DomainVerificationRequested,
    MessagesReported,
    TrackingHostCheckRequested,
    UnsubscribeMailed,
  ],
  tasks: [DueDomainChecks, DueTrackingHostChecks, RemoveOldDomainData, RemoveOldReports, RemoveOldThrottling],
  parts: [BounceServer],
};
