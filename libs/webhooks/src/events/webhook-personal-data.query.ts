import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';

export interface ToldEvent {
  readonly id: string;
  readonly type: string;
  readonly occurredAt: Date;
  readonly data: unknown;
}

/** What was told of a person, to show it or to erase it. */
@Injectable()
export class WebhookPersonalData {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Oldest first. */
  async of(scope: ProjectScope, subscriberId: string): Promise<ToldEvent[]> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<ToldEvent>`
        select id, type, occurred_at as "occurredAt", data from webhooks.events
        where environment_id = ${scope.environmentId} and subscriber_id = ${subscriberId} order by occurred_at, id
      `.execute(db);
      return rows;
    });
  }

  /** What is still to be told then says of whom, and nothing about them. */
  async erase(scope: ProjectScope, subscriberId: string): Promise<void> {
    await this.database.transaction(scope, async ({ db }) => {
      await sql`
        update webhooks.events set data = jsonb_build_object('subscriberId', subscriber_id)
        where environment_id = ${scope.environmentId} and subscriber_id = ${subscriberId}
      `.execute(db);
      // A receiver's answer may repeat what it was told.
      const told = sql`select d.id from webhooks.deliveries d join webhooks.events e on e.id = d.event_id
        where e.environment_id = ${scope.environmentId} and e.subscriber_id = ${subscriberId}`;
      await sql`
        update webhooks.deliveries set last_error = 'erased'
        where environment_id = ${scope.environmentId} and last_error is not null and id in (${told})
      `.execute(db);
      await sql`
        update webhooks.attempts set error = 'erased'
        where environment_id = ${scope.environmentId} and error is not null and delivery_id in (${told})
      `.execute(db);
    });
  }
}
