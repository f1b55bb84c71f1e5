import type { Generated } from 'kysely';
import type { Tables } from '#platform';
import type { Consent, ConsentStatus, SubscriberStatus } from './consents/consent.js';
import { CustomFieldSchema } from './custom-fields/custom-field.schema.js';
import { ImportSchema } from './imports/import.schema.js';
import { SegmentSchema } from './segments/segment.schema.js';
import { SubscriberSchema } from './subscribers/subscriber.schema.js';
import { SuppressionSchema } from './suppressions/suppression.schema.js';
import { TopicSchema } from './topics/topic.schema.js';
import type { AwaitedTrigger } from './triggers/awaited-trigger.js';

export const audienceEntities = [
  CustomFieldSchema,
  ImportSchema,
  SegmentSchema,
  SubscriberSchema,
  SuppressionSchema,
  TopicSchema,
];

interface ConsentsTable extends Consent {
  readonly environmentId: number;
  readonly subscriberId: string;
  /** Copies of the subscriber's columns, kept by a trigger, so that lists of a topic's subscribers read one index. */
  readonly subscriberStatus: SubscriberStatus;
  readonly subscriberCreatedAt: Date;
}

interface ConfirmationsTable {
  readonly id: string;
  readonly environmentId: number;
  readonly subscriberId: string;
  readonly topicIds: readonly string[];
  readonly isRepeat: Generated<boolean>;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** What is read of it by itself; the rest is written and shown as it is. */
interface ConsentLedgerTable {
  readonly environmentId: number;
  readonly subscriberId: string;
  readonly topicId: string;
  readonly position: Generated<number>;
  readonly toStatus: ConsentStatus;
  readonly textLocale: string | null;
  readonly textVersion: number | null;
}

interface ErasedSuppressionsTable {
  readonly environmentId: number;
  readonly addressDigest: Buffer;
}

interface SegmentReferencesTable {
  readonly segmentId: string;
  readonly usedSegmentId: string;
  readonly environmentId: number;
}

interface TriggerWatchesTable extends AwaitedTrigger {
  readonly watcherId: string;
  readonly environmentId: number;
  readonly isOpen: boolean;
}

/** The tables of the schema `audience`. SQL alone writes those without an entity, in sets. */
export type AudienceTables = Tables<'audience', (typeof audienceEntities)[number]> & {
  'audience.consents': ConsentsTable;
  'audience.consent_ledger': ConsentLedgerTable;
  'audience.confirmations': ConfirmationsTable;
  'audience.erased_suppressions': ErasedSuppressionsTable;
  'audience.segment_references': SegmentReferencesTable;
  'audience.trigger_watches': TriggerWatchesTable;
};
