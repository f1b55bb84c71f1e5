import type { ContextWork } from '../worker.js';
import {
  FindReportedMessages,
  RecordBounces,
  RecordComplaint,
  UnsubscribeByMail,
} from './bounce-processor.js';
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
};
