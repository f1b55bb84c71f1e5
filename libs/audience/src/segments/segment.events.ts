import { defineEvent } from '#kernel';

/** The worker has to evaluate a dynamic segment. */
export const SegmentDue = defineEvent<{ segmentId: string }>('audience.segment_due.v1');
