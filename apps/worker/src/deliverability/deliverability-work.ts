import { BounceReported, ComplaintReported, RemoveOldReports } from '#deliverability';
import type { ContextWork } from '../context-work.js';
import { BounceServer } from './bounce-server.js';
import { RecordBounce } from './record-bounce.job.js';
import { RecordComplaint } from './record-complaint.job.js';

export const deliverabilityWork: ContextWork = {
  jobs: [RecordBounce, RecordComplaint],
  events: [BounceReported, ComplaintReported],
  tasks: [RemoveOldReports],
  parts: [BounceServer],
};
