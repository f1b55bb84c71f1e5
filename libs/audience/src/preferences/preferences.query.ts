import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, environmentOf } from '#platform';
import type { Preferences, TopicPreference } from './preferences.js';

/** Reads what a subscriber can decide about. */
@Injectable()
export class PreferencesQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** null when there is no such subscriber. */
  of(scope: ProjectScope, subscriberId: string): Promise<Preferences | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Omit<Preferences, 'topics'>>`
        select b.email, s.email_key is not null as suppressed,
          case when b.paused_until > ${this.clock.now()} then b.paused_until end as "pausedUntil"
        from audience.subscribers b
        left join audience.suppressions s on s.environment_id = b.environment_id and s.email_key = b.email_key
        where b.environment_id = ${environmentOf(scope)} and b.id = ${subscriberId}
      `.execute(db);
      const [subscriber] = rows;
      return subscriber === undefined
        ? null
        : { ...subscriber, topics: await this.#topics(scope, subscriberId) };
    });
  }

  #topics(scope: ProjectScope, subscriberId: string): Promise<TopicPreference[]> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<TopicPreference>`
        select t.topic_key as "topicKey", t.name as "topicName", t.description, c.status,
          t.status = 'ACTIVE' as "isActive"
        from audience.topics t
        left join audience.consents c on c.topic_id = t.id and c.subscriber_id = ${subscriberId}
        where t.environment_id = ${scope.environmentId} and t.deleted_at is null
          and (c.status in ('SUBSCRIBED', 'PENDING_CONFIRMATION') or (t.status = 'ACTIVE' and t.visibility = 'PUBLIC'))
        order by lower(t.name), t.id
      `.execute(db);
      return rows;
    });
  }
}
