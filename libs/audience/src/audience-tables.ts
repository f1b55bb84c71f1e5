import type { Tables } from '#platform';
import { CustomFieldSchema } from './custom-fields/custom-field.schema.js';
import { SegmentSchema } from './segments/segment.schema.js';
import { SuppressionSchema } from './suppressions/suppression.schema.js';
import { TopicSchema } from './topics/topic.schema.js';
import type { AwaitedTrigger } from './triggers/awaited-trigger.js';

export const audienceEntities = [CustomFieldSchema, SegmentSchema, SuppressionSchema, TopicSchema];

interface ErasedSuppressionsTable {
  readonly environmentId: number;
  readonly addressDigest: Buffer;
}

interface SegmentReferencesTable {
  readonly segmentId: string;
  readonly usedSegmentId: string;
  readonly environmentId: number;
}

interface SignalWatchesTable extends AwaitedTrigger {
  readonly watcherId: string;
  readonly environmentId: number;
  readonly isOpen: boolean;
}

/** The tables of the schema `audience`. */
export type AudienceTables = Tables<
  'audience',
  typeof CustomFieldSchema | typeof SegmentSchema | typeof SuppressionSchema | typeof TopicSchema
> & {
  'audience.erased_suppressions': ErasedSuppressionsTable;
  'audience.segment_references': SegmentReferencesTable;
  'audience.signal_watches': SignalWatchesTable;
};
