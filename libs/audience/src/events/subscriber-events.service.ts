import { Injectable } from '@nestjs/common';
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
import { TRIGGERS_CHANNEL } from '../triggers/triggers.service.js';
import { occurrenceFault, type ReportedEvent } from './subscriber-event.js';

/** Stores events of subscribers that clients report, for segments and automations. */
@Injectable()
export class SubscriberEventsService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
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
      // Locked, so that no event stays behind when the person is erased at the same time.
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
      this.database.notify(TRIGGERS_CHANNEL);
      return id;
    });
  }
}
