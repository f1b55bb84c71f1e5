import { defineEntity, p } from '@mikro-orm/postgresql';
import type { SubscriberStatus } from '../consents/consent.js';
import type { CustomFieldValues } from '../custom-fields/custom-field.js';
import { Subscriber, type SubscriberSource } from './subscriber.js';

/** audience.subscribers, without the search keys of names, which PostgreSQL generates. */
export const SubscriberSchema = defineEntity({
  class: Subscriber,
  tableName: 'subscribers',
  schema: 'audience',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number').primary(),
    subscriberKey: p.text(),
    email: p.text(),
    emailKey: p.text(),
    firstName: p.text().nullable(),
    lastName: p.text().nullable(),
    phone: p.text().nullable(),
    locale: p.text().nullable(),
    timeZone: p.text().nullable(),
    source: p.string().$type<SubscriberSource>(),
    status: p.string().$type<SubscriberStatus>(),
    customFields: p.json<CustomFieldValues>(),
    archivedKeys: p.array().persist(false),
    pausedUntil: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});
