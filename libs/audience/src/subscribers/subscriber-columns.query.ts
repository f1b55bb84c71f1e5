import { type RawBuilder, sql } from 'kysely';

/** The values of active fields of a table `b`, without those of archived fields, which stay in the row. */
export const activeValues = (environment: RawBuilder<unknown>) => sql`case when b.custom_fields = '{}' then b.custom_fields else b.custom_fields - array(
  select f.key from audience.custom_fields f where f.environment_id = ${environment} and f.status = 'ARCHIVED'
) end`;

/** The columns of a `SubscriberView`, of a table called `b`. */
export const subscriberColumns = withCustomFields(activeValues(sql`b.environment_id`));

/** The same of one who was made now, whose values are all of active fields. */
export const newSubscriberColumns = withCustomFields(sql`b.custom_fields`);

function withCustomFields(customFields: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`b.id, b.subscriber_key as "subscriberKey", b.email, b.first_name as "firstName", b.last_name as "lastName",
    b.phone, b.locale, b.time_zone as "timeZone", b.status, b.source, ${customFields} as "customFields",
    b.created_at as "createdAt", b.updated_at as "updatedAt"`;
}
