import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { newId, type ProjectScope } from '#kernel';
import { Database, environmentOf, publish } from '#platform';
import { repeatsCountSince } from './confirmation.js';
import { CONFIRMATION_VALID_MS } from './consent.js';
import { ConfirmationRequested } from './consent.events.js';

/** What is asked for: the topics of one grant, or those again. */
export interface ConfirmationRequest {
  readonly subscriberId: string;
  readonly topicIds: readonly string[];
  readonly isRepeat: boolean;
}

/** Requests to confirm. Whoever adds one holds the lock of the subscriber's row. */
@Injectable()
export class ConfirmationRepository {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Adds a request, good for 48 h, and the event that sends its mail. */
  add(
    scope: ProjectScope,
    { subscriberId, topicIds, isRepeat }: ConfirmationRequest,
    at: Date,
  ): Promise<void> {
    const confirmationId = newId();
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        insert into audience.confirmations (id, environment_id, subscriber_id, topic_ids, is_repeat, created_at, expires_at)
        values (${confirmationId}, ${scope.environmentId}, ${subscriberId}, ${[...topicIds]}::uuid[], ${isRepeat}, ${at},
          ${new Date(at.getTime() + CONFIRMATION_VALID_MS)})
      `.execute(db);
      await publish(db, scope, ConfirmationRequested({ confirmationId }));
    });
  }

  /** When the mails of the last 24 h that asked again were asked for, by topic id. */
  repeats(
    scope: ProjectScope,
    subscriberId: string,
    now: Date,
  ): Promise<ReadonlyMap<string, readonly Date[]>> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ topicId: string; times: Date[] }>`
        select t.id as "topicId", array_agg(f.created_at) as times
        from audience.confirmations f cross join unnest(f.topic_ids) as t(id)
        where f.environment_id = ${environmentOf(scope)} and f.subscriber_id = ${subscriberId}
          and f.is_repeat and f.created_at > ${repeatsCountSince(now)}
        group by t.id
      `.execute(db);
      return new Map(rows.map(({ topicId, times }) => [topicId, times]));
    });
  }
}
