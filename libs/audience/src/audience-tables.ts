import { defineEntity, p } from '@mikro-orm/postgresql';
import type { Generated } from 'kysely';
import type { Metadata } from '#kernel';
import type { Tables } from '#platform';
import type { Consent, ConsentStatus, SubscriberStatus, SuppressionReason } from './consents/consent.js';
import type { CustomFieldValues } from './custom-fields/custom-field.js';
import { CustomFieldSchema } from './custom-fields/custom-field.schema.js';
import { ImportSchema } from './imports/import.schema.js';
import type { PropertyTest } from './rules/rule.js';
import { SegmentSchema } from './segments/segment.schema.js';
import { Subscriber, type SubscriberSource } from './subscribers/subscriber.js';
import { type SuppressedStreams, Suppression } from './suppressions/suppression.js';
import {
  Topic,
  type TopicPriority,
  type TopicStatus,
  type TopicTranslations,
  type TopicVisibility,
} from './topics/topic.js';

/** audience.subscribers, without the search keys of names, which PostgreSQL generates. */
const SubscriberSchema = defineEntity({
  class: Subscriber,
  tableName: 'subscribers',
  schema: 'audience',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number').primary(),
    subscriberKey: p.text(),
    email: p.text(),
    emailKey: p.text(),
    externalId: p.text().nullable(),
    firstName: p.text().nullable(),
    lastName: p.text().nullable(),
    phone: p.text().nullable(),
    locale: p.text().nullable(),
    timeZone: p.text().nullable(),
    source: p.string().$type<SubscriberSource>(),
    status: p.string().$type<SubscriberStatus>(),
    customFields: p.json<CustomFieldValues>(),
    metadata: p.json<Metadata>(),
    archivedKeys: p.array().persist(false),
    pausedUntil: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});

const TopicSchema = defineEntity({
  class: Topic,
  tableName: 'topics',
  schema: 'audience',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number').primary(),
    topicKey: p.text(),
    name: p.text(),
    description: p.text().nullable(),
    status: p.string().$type<TopicStatus>(),
    visibility: p.string().$type<TopicVisibility>(),
    priority: p.string().$type<TopicPriority>().nullable(),
    icon: p.text().nullable(),
    doubleOptInEnabled: p.boolean(),
    optInTemplateKey: p.text().nullable(),
    translations: p.json<TopicTranslations>(),
    metadata: p.json<Metadata>(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    deletedAt: p.datetime(3).nullable(),
  },
});

/** audience.suppressions. Erased addresses are in another table, which only SQL writes. */
const SuppressionSchema = defineEntity({
  class: Suppression,
  tableName: 'suppressions',
  schema: 'audience',
  properties: {
    environmentId: p.bigint('number').primary(),
    emailKey: p.text().primary(),
    email: p.text(),
    reason: p.string().$type<SuppressionReason>(),
    streams: p.string().$type<SuppressedStreams>(),
    suppressedAt: p.datetime(3),
  },
});

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

/** The columns that are read by themselves; the rest is written and shown as it is. */
interface ConsentLedgerTable {
  readonly environmentId: number;
  readonly subscriberId: string;
  readonly topicId: string;
  readonly position: Generated<number>;
  readonly toStatus: ConsentStatus;
  readonly textLocale: string | null;
  readonly textVersion: number | null;
  readonly addressChange: unknown;
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

/** A kind of trigger with its source: the id of a topic or segment, or the name of an event. */
export interface AwaitedTrigger {
  readonly kind: 'SUBSCRIBED' | 'SEGMENT_ENTERED' | 'SEGMENT_LEFT' | 'CUSTOM_EVENT';
  readonly subject: string;
  /** Tests of an event's properties, all of which must hold. Default: none. */
  readonly where?: readonly PropertyTest[];
}

interface TriggerWatchesTable extends Omit<AwaitedTrigger, 'where'> {
  /** jsonpath. */
  readonly conditions: string | null;
  readonly watcherId: string;
  readonly environmentId: number;
  readonly isOpen: boolean;
  readonly openSince: Date | null;
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
