import type { Generated } from 'kysely';
import type { Tables } from '#platform';
import { EndpointSchema } from './endpoint.schema.js';

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
