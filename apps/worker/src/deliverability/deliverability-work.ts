import {
  DueDomainChecks,
  DueTrackingHostChecks,
  RemoveOldDomainData,
  RemoveOldReports,
  RemoveOldThrottling,
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
  tasks: [DueDomainChecks, DueTrackingHostChecks, RemoveOldDomainData, RemoveOldReports, RemoveOldThrottling],
  parts: [BounceServer],
};
