import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { Database, named } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { Subscriber, type SubscriberView } from './subscriber.js';

const COLUMNS = [
  'id',
  'environmentId',
  'subscriberKey',
  'email',
  'emailKey',
  'firstName',
  'lastName',
  'phone',
  'locale',
  'timeZone',
  'source',
  'status',
  'customFields',
  'pausedUntil',
  'createdAt',
  'updatedAt',
] as const;

/** An address, and the subscriber who has it. */
export interface OwnedAddress extends Pick<EmailAddress, 'value' | 'key'> {
  readonly subscriberId: string | null;
}

/**
 * The subscribers of a project, for changes. The lock of a subscriber's row also protects its consents and confirmations: changes
 * of those take it first.
 */
@Injectable()
export class SubscriberRepository {
  constructor(private readonly database: Database) {}

  /** Runs `work` in a transaction with the subscriber locked, and writes its changes. Throws NotFoundError. */
  edit<T>(scope: ProjectScope, emailKey: string, work: (subscriber: Subscriber) => Promise<T>): Promise<T> {
    return this.database.transaction(scope, async () => {
      const row = await this.database
        .tables<AudienceTables>()
        .selectFrom('audience.subscribers')
        .select(COLUMNS)
        .select(archivedKeys(scope).as('archivedKeys'))
        .where('environmentId', '=', scope.environmentId)
        .where('emailKey', '=', emailKey)
        .forUpdate()
        .executeTakeFirst();
      if (row === undefined) throw new NotFoundError();
      const subscriber = this.database.em.map(Subscriber, row, { mapped: true });
      const result = await work(subscriber);
      await this.database.em.flush();
      return result;
    });
  }

  /** Pauses mail until then, or ends the pause; changes nothing else of the subscriber. */
  pause(scope: ProjectScope, subscriberId: string, until: Date | null): Promise<void> {
    return this.database.transaction(scope, async () => {
      await this.database
        .tables<AudienceTables>()
        .updateTable('audience.subscribers')
        .set({ pausedUntil: until })
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', subscriberId)
        .execute();
    });
  }

  /** The address of a subscriber; null when there is no such subscriber. */
  addressOf(scope: ProjectScope, subscriberId: string): Promise<Pick<EmailAddress, 'value' | 'key'> | null> {
    return this.database.transaction(scope, async () => {
      const row = await this.database
        .tables<AudienceTables>()
        .selectFrom('audience.subscribers')
        .modifyFront(named('address_of_subscriber'))
        .select(['email as value', 'emailKey as key'])
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', subscriberId)
        .executeTakeFirst();
      return row ?? null;
    });
  }

  /**
   * Runs `work` in a transaction with the address locked, which may have no row yet, and then its subscriber, if any. Otherwise a
   * subscriber could be created while the address is being suppressed. Callers that need both locks take them in this order.
   */
  whileAddressLocked<T>(
    scope: ProjectScope,
    emailKey: string,
    work: (subscriberId: string | null) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(scope, async () => {
      const lock = sql`${named('lock_address')} select pg_advisory_xact_lock(${addressLock(scope, emailKey)})`;
      await lock.execute(this.database.tables());
      return work(await this.#lockByKey(scope, emailKey));
    });
  }

  /** Runs `work` in a transaction with the subscriber's address and then the subscriber locked; null for an erased subscriber. */
  async whileOwned<T>(
    scope: ProjectScope,
    subscriberId: string,
    work: (address: Pick<EmailAddress, 'value' | 'key'>) => Promise<T | null>,
  ): Promise<T | null> {
    const address = await this.addressOf(scope, subscriberId);
    if (address === null) return null;
    return this.whileAddressLocked(scope, address.key, (ownerId) =>
      // A subscriber erased meanwhile has the address no more.
      ownerId === subscriberId ? work(address) : Promise.resolve(null),
    );
  }

  /**
   * The same for many: subscribers by their ids, without the erased ones, and addresses that may be nobody's; in one order, so that
   * writers cannot lock each other out.
   */
  whileAllOwned<T>(
    scope: ProjectScope,
    owners: readonly (string | Pick<EmailAddress, 'value' | 'key'>)[],
    work: (addresses: readonly OwnedAddress[]) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(scope, async () => {
      const { environmentId } = scope;
      const ids = owners.filter((owner) => typeof owner === 'string');
      const { rows: found } = await sql<
        Omit<OwnedAddress, 'subscriberId'> & { id: string }
      >`${named('addresses_of')}
        select b.id, b.email as value, b.email_key as key from audience.subscribers b
        where b.environment_id = ${environmentId} and b.id = any(${ids}::uuid[])
      `.execute(this.database.tables());
      const ownerOf = new Map(found.map(({ id, key }) => [key, id]));
      const given = owners.filter((owner) => typeof owner !== 'string');
      const addresses = new Map([...found, ...given].map(({ value, key }) => [key, value]));
      const keys = [...addresses.keys()].toSorted();
      await sql`${named('lock_addresses')}
        select pg_advisory_xact_lock(hashtextextended(k, 0)) from unnest(${keys.map((key) => `${environmentId}:${key}`)}::text[]) k
      `.execute(this.database.tables());
      const { rows: locked } = await sql<{ id: string; key: string }>`${named('lock_subscribers_by_key')}
        select b.id, b.email_key as key from audience.subscribers b
        where b.environment_id = ${environmentId} and b.email_key = any(${keys}::text[]) order by b.email_key for update
      `.execute(this.database.tables());
      const lockedId = new Map(locked.map(({ id, key }) => [key, id]));
      // A subscriber erased meanwhile has the address no more.
      const isOwned = (key: string) => !ownerOf.has(key) || ownerOf.get(key) === lockedId.get(key);
      return work(
        keys
          .filter(isOwned)
          .map((key) => ({ key, value: addresses.get(key)!, subscriberId: lockedId.get(key) ?? null })),
      );
    });
  }

  /** Runs `work` in a transaction with the subscriber locked, if there is one. */
  whileLockedById<T>(scope: ProjectScope, subscriberId: string, work: () => Promise<T>): Promise<T> {
    return this.database.transaction(scope, async () => {
      await this.database
        .tables<AudienceTables>()
        .selectFrom('audience.subscribers')
        .modifyFront(named('lock_subscriber'))
        .select('id')
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', subscriberId)
        .forUpdate()
        .execute();
      return work();
    });
  }

  /** Runs `work` in a transaction with the subscriber locked. Throws NotFoundError. */
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
  async #lockByKey(scope: ProjectScope, emailKey: string): Promise<string | null> {
    const { rows } = await sql<{ id: string }>`${named('lock_subscriber_by_key')}
      select b.id from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.email_key = ${emailKey} for update
    `.execute(this.database.tables());
    return rows[0]?.id ?? null;
  }
}

/** The class of advisory locks on addresses: whoever holds one alone decides about the address. */
export function addressLock({ environmentId }: ProjectScope, emailKey: string): RawBuilder<number> {
  return sql<number>`hashtextextended(${`${environmentId}:${emailKey}`}, 0)`;
}

/** The keys of the project's archived fields: a value of type text[]. */
export function archivedKeys(scope: ProjectScope): RawBuilder<string[]> {
  return sql<string[]>`array(
    select f.key from audience.custom_fields f where f.environment_id = ${scope.environmentId} and f.status = 'ARCHIVED'
  )`;
}

/** The custom fields of a table `b` without the values of archived fields, which stay in the row. */
export function activeValues(scope: ProjectScope): RawBuilder<unknown> {
  return sql`case when b.custom_fields = '{}' then b.custom_fields else b.custom_fields - ${archivedKeys(scope)} end`;
}

/** The columns of a `SubscriberView`, of a table called `b`. */
export function subscriberColumns(scope: ProjectScope): RawBuilder<SubscriberView> {
  return withCustomFields(activeValues(scope));
}

/** The same of a new subscriber, whose values are all of active fields. */
export const newSubscriberColumns = withCustomFields(sql`b.custom_fields`);

function withCustomFields(customFields: RawBuilder<unknown>): RawBuilder<SubscriberView> {
  return sql<SubscriberView>`
    b.id, b.subscriber_key as "subscriberKey", b.email, b.first_name as "firstName", b.last_name as "lastName",
    b.phone, b.locale, b.time_zone as "timeZone", b.status, b.source, ${customFields} as "customFields",
    b.created_at as "createdAt", b.updated_at as "updatedAt"`;
}
