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
import { Database, Publisher } from '#platform';
import type { CustomFieldValues } from '../custom-fields/custom-field.js';
import { applyCustomFields, customFieldPaths } from '../custom-fields/custom-field-values.js';
import { CustomFieldsQuery } from '../custom-fields/custom-field.repository.js';
import type { SubscriberPatch, SubscriberView } from './subscriber.js';
import { SubscriberRepository } from './subscriber.repository.js';
import { TRIGGERS_CHANNEL } from '../triggers.service.js';

/** An event that a client reports about a subscriber, under the client's own name; without a time it happened now. */
export interface ReportedEvent {
  readonly name: string;
  /** At most 8 KB of JSON. */
  readonly properties?: Readonly<Record<string, unknown>> | undefined;
  readonly occurredAt?: Date | undefined;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Tolerance for a client's clock that is ahead of ours. */
const AHEAD_MS = 5 * MINUTE_MS;
/** No rule looks further back: the longest duration is P730D. */
const KEPT_DAYS = 730;

/** Changes subscribers, and stores events that clients report of them, for segments and automations. */
@Injectable()
export class SubscribersService {
  constructor(
    private readonly database: Database,
    private readonly subscribers: SubscriberRepository,
    private readonly definitions: CustomFieldsQuery,
    private readonly publisher: Publisher,
    private readonly clock: Clock,
  ) {}

  /** Throws NotFoundError, DomainValidationError. */
  update(scope: ProjectScope, address: EmailAddress, patch: SubscriberPatch): Promise<SubscriberView> {
    return this.subscribers.edit(scope, address.key, async (subscriber) => {
      const customFields = await this.#customFields(scope, subscriber.customFields, patch.customFields);
      const isChanged = subscriber.edit(patch, customFields, this.clock.now());
      const data = subscriber.toView();
      if (isChanged)
        await this.publisher.publish(scope, { type: 'subscriber.updated', subscriberId: data.id, data });
      return data;
    });
  }

  /** Resolves to the event's id. Throws NotFoundError, DomainValidationError. */
  async recordEvent(
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
        where environment_id = ${scope.environmentId} and email_key = ${key} for key share
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

  /** The values after the changes. Throws DomainValidationError. */
  async #customFields(
    scope: ProjectScope,
    current: CustomFieldValues,
    changes: Readonly<Record<string, unknown>> = {},
  ): Promise<CustomFieldValues> {
    if (Object.keys(changes).length === 0) return current;
    const definitions = await this.definitions.definitionsToWrite(scope);
    const custom = applyCustomFields(definitions, current, changes, 'update');
    if ('errors' in custom) throw new DomainValidationError(customFieldPaths(custom.errors));
    return custom.values;
  }
}

/** The error in the time of an event, or null. */
function occurrenceFault(occurredAt: Date, now: Date): string | null {
  if (occurredAt.getTime() > now.getTime() + AHEAD_MS) return 'must not be in the future';
  if (occurredAt.getTime() < now.getTime() - KEPT_DAYS * DAY_MS)
    return `must not be more than ${KEPT_DAYS} days ago`;
  return null;
}
