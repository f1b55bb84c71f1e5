import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  Clock,
  DomainValidationError,
  type EmailAddress,
  newId,
  NotFoundError,
  type ProjectScope,
} from '#kernel';
import { Database, environmentOf } from '#platform';
import { occurrenceFault, type ReportedEvent } from './subscriber-event.js';

/** Keeps what subscribers did outside of mail, for segments and automations. */
@Injectable()
export class SubscriberEventsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Resolves to the event's id. Throws NotFoundError, DomainValidationError. */
  async record(
    scope: ProjectScope,
    { key }: Pick<EmailAddress, 'key'>,
    { name, properties = {}, occurredAt }: ReportedEvent,
  ): Promise<string> {
    const id = newId();
    const now = this.clock.now();
    const fault = occurredAt === undefined ? null : occurrenceFault(occurredAt, now);
    return this.database.transaction(scope, async () => {
      // Held, so that an event of somebody who is erased at this moment is not left behind.
      const { rows } = await sql<{ id: string }>`
        select id from audience.subscribers
        where environment_id = ${environmentOf(scope)} and email_key = ${key} for key share
      `.execute(this.database.tables());
      const subscriberId = rows[0]?.id;
      if (subscriberId === undefined) throw new NotFoundError();
      if (fault !== null) throw new DomainValidationError({ occurredAt: fault });
      await sql`
        insert into audience.subscriber_events (id, occurred_at, environment_id, subscriber_id, name, properties, created_at)
        values (${id}, ${occurredAt ?? now}, ${scope.environmentId}, ${subscriberId}, ${name},
          ${JSON.stringify(properties)}::jsonb, ${now})
      `.execute(this.database.tables());
      return id;
    });
  }
}
