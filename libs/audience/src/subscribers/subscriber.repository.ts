import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { Database, environmentOf, prepared } from '#platform';
import { addressLock } from '../addresses/address-lock.query.js';
import type { Subscriber, SubscriberFields } from './subscriber.js';

/** The values of active fields of a table called `b`: those of archived ones stay in the row, unseen. */
export const activeValues = sql`case when b.custom_fields = '{}' then b.custom_fields else b.custom_fields - array(
  select f.key from audience.custom_fields f where f.environment_id = b.environment_id and f.status = 'ARCHIVED'
) end`;

/** The columns of a `Subscriber`, of a table called `b`. */
export const subscriberColumns = sql`b.id, b.subscriber_key as "subscriberKey", b.email, b.first_name as "firstName",
  b.last_name as "lastName", b.phone, b.status, b.source, ${activeValues} as "customFields",
  b.created_at as "createdAt", b.updated_at as "updatedAt"`;

/**
 * The subscribers of a project, to change them. The lock of a subscriber's row also stands for its consents
 * and confirmations: who changes those takes it first.
 */
@Injectable()
export class SubscriberRepository {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Writes all fields; values of archived custom fields stay. */
  update(scope: ProjectScope, id: string, fields: SubscriberFields, at: Date): Promise<Subscriber> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Subscriber>`
        update audience.subscribers b set first_name = ${fields.firstName}, last_name = ${fields.lastName},
          phone = ${fields.phone}, updated_at = ${at},
          custom_fields = (b.custom_fields - array(select jsonb_object_keys(${activeValues})))
            || ${JSON.stringify(fields.customFields)}::jsonb
        where b.environment_id = ${environmentOf(scope)} and b.id = ${id}
        returning ${subscriberColumns}
      `.execute(db);
      return rows[0]!;
    });
  }

  find(scope: ProjectScope, emailKey: string): Promise<Subscriber | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Subscriber>`${prepared}
        select ${subscriberColumns} from audience.subscribers b
        where b.environment_id = ${environmentOf(scope)} and b.email_key = ${emailKey}
      `.execute(db);
      return rows[0] ?? null;
    });
  }

  /** The address of a subscriber; null when there is no such subscriber. */
  addressOf(scope: ProjectScope, subscriberId: string): Promise<Pick<EmailAddress, 'value' | 'key'> | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ value: string; key: string }>`
        select b.email as value, b.email_key as key from audience.subscribers b
        where b.environment_id = ${environmentOf(scope)} and b.id = ${subscriberId}
      `.execute(db);
      return rows[0] ?? null;
    });
  }

  /**
   * Runs `work` in a transaction that alone decides about the address, which may have no row yet, and has its subscriber
   * locked, if it has one: else a subscriber could be made at the moment in which the address is suppressed. Who needs both
   * locks takes them in this order.
   */
  whileAddressLocked<T>(
    scope: ProjectScope,
    emailKey: string,
    work: (subscriberId: string | null) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`${prepared}select pg_advisory_xact_lock(${addressLock(scope, emailKey)})`.execute(db);
      return work(await this.#lockByKey(scope, emailKey));
    });
  }

  /** Runs `work` in a transaction that has the subscriber locked, or knows that there is no such subscriber. */
  whileHeld<T>(scope: ProjectScope, subscriberId: string, work: (exists: boolean) => Promise<T>): Promise<T> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql`
        select b.id from audience.subscribers b
        where b.environment_id = ${environmentOf(scope)} and b.id = ${subscriberId} for update
      `.execute(db);
      return work(rows.length === 1);
    });
  }

  /** Runs `work` in a transaction that has the subscriber locked. Throws NotFoundError. */
  whileLocked<T>(
    scope: ProjectScope,
    emailKey: string,
    work: (subscriberId: string) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(scope, async () => {
      const subscriberId = await this.#lockByKey(scope, emailKey);
      if (subscriberId === null) throw new NotFoundError();
      return work(subscriberId);
    });
  }

  /** The id of the subscriber with this address, locked until the transaction ends; null when there is none. */
  #lockByKey(scope: ProjectScope, emailKey: string): Promise<string | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ id: string }>`${prepared}
        select b.id from audience.subscribers b
        where b.environment_id = ${environmentOf(scope)} and b.email_key = ${emailKey} for update
      `.execute(db);
      return rows[0]?.id ?? null;
    });
  }

  /** Holds mail until then, or no longer; nothing else of the subscriber changes. */
  pause(scope: ProjectScope, subscriberId: string, until: Date | null): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        update audience.subscribers set paused_until = ${until}
        where environment_id = ${environmentOf(scope)} and id = ${subscriberId}
      `.execute(db);
    });
  }
}
