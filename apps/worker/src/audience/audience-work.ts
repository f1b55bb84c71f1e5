import {
  ConfirmationRequested,
  ConfirmationsRequested,
  EvaluateSegments,
  ExpireConfirmations,
  FoldCounters,
  ImportQueued,
  RemoveErasedAddresses,
  RemoveOldImports,
  RemoveOldUnsubscriptions,
  SegmentDue,
  SubscriberErased,
  TopicDeleted,
  TrimSegmentHistory,
} from '#audience';
import type { ContextWork } from '../context-work.js';
import { EraseMail } from './erase-mail.job.js';
import { EvaluateSegment } from './evaluate-segment.job.js';
import { ImportSubscribers } from './import-subscribers.job.js';
import { RemoveTopicConsents } from './remove-topic-consents.job.js';

export const audienceWork: ContextWork = {
  jobs: [EraseMail, EvaluateSegment, ImportSubscribers, RemoveTopicConsents],
  events: [
    ConfirmationRequested,
    ConfirmationsRequested,
    ImportQueued,
    SegmentDue,
    SubscriberErased,
    TopicDeleted,
  ],
  tasks: [
    ExpireConfirmations,
    FoldCounters,
    RemoveErasedAddresses,
    RemoveOldImports,
    RemoveOldUnsubscriptions,
    EvaluateSegments,
    TrimSegmentHistory,
  ],
  parts: [],
};
