import { defineEntity, p } from '@mikro-orm/postgresql';
import type { PublishedEventType } from '#kernel';
import { Endpoint, type EndpointStatus } from './endpoint.js';

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
    eventTypes: p.array().columnType('text[]').$type<PublishedEventType[]>(),
    secret: p.text(),
    previousSecret: p.text().nullable(),
    previousSecretUntil: p.datetime(3).nullable(),
    status: p.string().$type<EndpointStatus>(),
    disabledReason: p.text().nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});
