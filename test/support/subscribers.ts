import type { ProjectScope } from '#kernel';
import type { TestDatabase } from './database.js';

/** Puts `count` people into a topic, subscribed since a day, as `reader-1@example.com` and so on, or at another domain. */
export async function insertSubscribers(
  database: TestDatabase,
  scope: ProjectScope,
  topicId: string,
  count: number,
  domain = 'example.com',
): Promise<void> {
  await database.query(
    `with people as (
       insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, first_name, source, status,
         created_at, updated_at)
       select platform.new_id(), $1, 'BULK-' || n, 'reader-' || n || '@' || $4, 'reader-' || n || '@' || $4,
         'Reader ' || n, 'IMPORT', 'ACTIVE', now(), now()
       from generate_series(1, $3::int) n
       returning id
     )
     insert into audience.consents (subscriber_id, topic_id, environment_id, status, granted_at, subscribed_at)
     select id, $2, $1, 'SUBSCRIBED', now() - interval '1 day', now() - interval '1 day' from people`,
    [scope.environmentId, topicId, count, domain],
  );
  await database.query('analyze audience.subscribers, audience.consents');
}
