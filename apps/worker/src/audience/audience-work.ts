import {
  ConfirmationRequested,
  ConfirmationsRequested,
  EvaluateSegments,
  ExpireConfirmations,
  FoldCounters,
  ImportQueued,
  RemoveOldImports,
  SubscriberErased,
  TopicDeleted,
  TrimSegmentHistory,
} from '#audience';
import type { ContextWork } from '../context-work.js';
import { EraseMail } from './erase-mail.job.js';
import { ImportSubscribers } from './import-subscribers.job.js';
import { RemoveTopicConsents } from './remove-topic-consents.job.js';

export const audienceWork: ContextWork = {
  jobs: [EraseMail, ImportSubscribers, RemoveTopicConsents],
  events: [ConfirmationRequested, ConfirmationsRequested, ImportQueued, SubscriberErased, TopicDeleted],
  tasks: [ExpireConfirmations, FoldCounters, RemoveOldImports, EvaluateSegments, TrimSegmentHistory],
  parts: [],
};
