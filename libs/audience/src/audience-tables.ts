import type { Generated } from 'kysely';
import type { Tables } from '#platform';
import type { ConsentStatus } from './consents/consent.js';
import type { SubscriberStatus, SuppressionReason } from './consents/subscriber-status.js';
import { ImportSchema } from './imports/import.schema.js';
import { SubscriberSchema } from './subscribers/subscriber.schema.js';
import type { TopicStatus } from './topics/topic.js';

export const audienceEntities = [ImportSchema, SubscriberSchema];

interface ConsentsTable {
  readonly environmentId: number;
  readonly subscriberId: string;
  readonly topicId: string;
  readonly status: ConsentStatus;
  readonly grantedAt: Date | null;
  readonly confirmedAt: Date | null;
  readonly revokedAt: Date | null;
  readonly tokenExpiresAt: Date | null;
  readonly subscribedAt: Date | null;
  /** Copies of the subscriber's, kept by a trigger: lists of a topic's subscribers read one index. */
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

interface TopicsTable {
  readonly id: string;
  readonly environmentId: number;
  readonly topicKey: string;
  readonly name: string;
  readonly description: string | null;
  readonly status: TopicStatus;
  readonly visibility: 'PUBLIC' | 'PRIVATE';
  readonly createdAt: Date;
  readonly deletedAt: Date | null;
}

interface SuppressionsTable {
  readonly environmentId: number;
  readonly emailKey: string;
  readonly email: string;
  readonly reason: SuppressionReason;
  readonly suppressedAt: Date;
}

/** The tables of the schema `audience`. Those without an entity are written for many people at once, by SQL alone. */
export type AudienceTables = Tables<'audience', typeof ImportSchema | typeof SubscriberSchema> & {
  'audience.consents': ConsentsTable;
  'audience.confirmations': ConfirmationsTable;
  'audience.topics': TopicsTable;
  'audience.suppressions': SuppressionsTable;
};
