import { sql } from 'kysely';

/** The values of active fields of a table `b`, without those of archived fields, which stay in the row. */
export const activeValues = sql`case when b.custom_fields = '{}' then b.custom_fields else b.custom_fields - array(
  select f.key from audience.custom_fields f where f.environment_id = b.environment_id and f.status = 'ARCHIVED'
) end`;

/** The columns of a `SubscriberView`, of a table called `b`. */
export const subscriberColumns = sql`b.id, b.subscriber_key as "subscriberKey", b.email, b.first_name as "firstName",
  b.last_name as "lastName", b.phone, b.locale, b.time_zone as "timeZone", b.status, b.source, ${activeValues} as "customFields",
  b.created_at as "createdAt", b.updated_at as "updatedAt"`;
