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
import type { ContextWork } from '../worker.js';
import {
  FindReportedMessages,
  RecordBounces,
  RecordComplaint,
  UnsubscribeByMail,
} from './bounce-processor.js';
import { BounceServer } from './bounce-server.js';
import { CheckDomain, CheckTrackingHost } from './dns-checks.job.js';

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
