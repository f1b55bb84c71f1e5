import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { environmentOf } from '#platform';
import type { SubscriberView } from './subscriber.js';

/** The keys of the project's archived fields: a value of type text[]. */
export function archivedKeys(scope: ProjectScope): RawBuilder<string[]> {
  return sql<string[]>`array(
    select f.key from audience.custom_fields f where f.environment_id = ${environmentOf(scope)} and f.status = 'ARCHIVED'
  )`;
}

/** The values of active fields of a table `b`, without those of archived fields, which stay in the row. */
export function activeValues(scope: ProjectScope): RawBuilder<unknown> {
  return sql`case when b.custom_fields = '{}' then b.custom_fields else b.custom_fields - ${archivedKeys(scope)} end`;
}

/** The columns of a `SubscriberView`, of a table called `b`. */
export function subscriberColumns(scope: ProjectScope): RawBuilder<SubscriberView> {
  return withCustomFields(activeValues(scope));
}

/** The same of one who was made now, whose values are all of active fields. */
export const newSubscriberColumns = withCustomFields(sql`b.custom_fields`);

function withCustomFields(customFields: RawBuilder<unknown>): RawBuilder<SubscriberView> {
  return sql<SubscriberView>`b.id, b.subscriber_key as "subscriberKey", b.email, b.first_name as "firstName", b.last_name as "lastName",
    b.phone, b.locale, b.time_zone as "timeZone", b.status, b.source, ${customFields} as "customFields",
    b.created_at as "createdAt", b.updated_at as "updatedAt"`;
}
