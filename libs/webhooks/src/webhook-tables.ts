import { defineEntity, p } from '@mikro-orm/postgresql';
import type { Generated } from 'kysely';
import type { Tables } from '#platform';
import { Endpoint, type EndpointStatus, type EventPattern } from './endpoint.js';

/** webhooks.endpoints */
export const EndpointSchema = defineEntity({
  class: Endpoint,
  tableName: 'endpoints',
  schema: 'webhooks',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number').primary(),
    projectId: p.bigint('number'),
    url: p.text(),
    description: p.text().nullable(),
    eventTypes: p.array().columnType('text[]').$type<EventPattern[]>(),
    secret: p.text(),
    previousSecret: p.text().nullable(),
    previousSecretUntil: p.datetime(3).nullable(),
    status: p.string().$type<EndpointStatus>(),
    disabledReason: p.text().nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});

export const webhookEntities = [EndpointSchema];

interface EventsTable {
  readonly id: string;
  readonly environmentId: number;
  readonly type: string;
  readonly subscriberId: string | null;
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly occurredAt: Date;
}

interface DeliveriesTable {
  readonly id: string;
  readonly environmentId: number;
  readonly endpointId: string;
  readonly eventId: string;
  readonly eventType: string | null;
  readonly state: Generated<'PENDING' | 'DELIVERED' | 'FAILED'>;
  readonly attempts: Generated<number>;
  readonly nextAttemptAt: Date;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

interface AttemptsTable {
  readonly deliveryId: string;
  readonly environmentId: number;
  readonly error: string | null;
}

/** The tables of the schema `webhooks`. Events and deliveries are written by SQL alone. */
export type WebhookTables = Tables<'webhooks', typeof EndpointSchema> & {
  'webhooks.events': EventsTable;
  'webhooks.deliveries': DeliveriesTable;
  'webhooks.attempts': AttemptsTable;
};
