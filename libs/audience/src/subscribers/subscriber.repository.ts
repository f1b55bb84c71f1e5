import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { AuditTrail, Database, named } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import {
  changesBetween,
  type ChangedBy,
  type FieldChanges,
  recordingChanges,
} from './field-changes.service.js';
import { unlessOthers } from './subscriber.errors.js';
import { type Person, Subscriber, type SubscriberRef, type SubscriberView } from './subscriber.js';

const COLUMNS = [
  'id',
  'environmentId',
  'subscriberKey',
  'email',
  'emailKey',
  'externalId',
  'firstName',
  'lastName',
  'phone',
  'locale',
  'timeZone',
  'source',
  'status',
  'customFields',
  'metadata',
  'pausedUntil',
  'createdAt',
  'updatedAt',
] as const;

/** An address that mail went to. */
export interface MailedAddress extends Pick<EmailAddress, 'value' | 'key'> {
  /** The person whom it went to, with another address perhaps by now; null: nobody whom we know. */
  readonly subscriberId: string | null;
}

/** An address, and the subscriber who has it. */
export interface OwnedAddress extends Pick<EmailAddress, 'value' | 'key'> {
  readonly subscriberId: string | null;
  /** The person whom mail to it was for. */
  readonly mailedTo?: string | null;
}

/**
 * The subscribers of a project, for changes. The lock of a subscriber's row also protects its consents and confirmations: changes
 * of those take it first.
 */
@Injectable()
export class SubscriberRepository {
  constructor(private readonly database: Database) {}

  /** Runs `work` in a transaction with the subscriber locked, and writes its changes. Throws NotFoundError, SubscriberExistsError. */
  edit<T>(
    scope: ProjectScope,
    ref: SubscriberRef,
    by: ChangedBy,
    work: (subscriber: Subscriber) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(scope, async () => {
      const row = await this.database
        .tables<AudienceTables>()
        .selectFrom('audience.subscribers as b')
        .select(COLUMNS)
        .select(archivedKeys(scope).as('archivedKeys'))
        .where('environmentId', '=', scope.environmentId)
        .where(isNamed(ref))
        .forUpdate()
        .executeTakeFirst();
      if (row === undefined) throw new NotFoundError();
      AuditTrail.current?.concerns(row.id);
      const subscriber = Object.assign(new Subscriber(), row);
      const earlier = subscriber.fields();
      const result = await work(subscriber);
      const changes = changesBetween(earlier, subscriber.fields());
      if (Object.keys(changes).length > 0) await this.#write(scope, subscriber, by, changes);
      return result;
    });
  }

  /** The subscriber with this id, in the open transaction. Throws NotFoundError. */
  async view(scope: ProjectScope, subscriberId: string): Promise<SubscriberView> {
    const { rows } = await sql<SubscriberView>`
      select ${subscriberColumns(scope)} from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.id = ${subscriberId}
    `.execute(this.database.tables());
    if (rows[0] === undefined) throw new NotFoundError();
    return rows[0];
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
  whileOwned<T>(
    scope: ProjectScope,
    subscriberId: string,
    work: (person: Person) => Promise<T | null>,
  ): Promise<T | null> {
    return this.database.transaction(scope, async () => {
      for (;;) {
        const address = await this.addressOf(scope, subscriberId);
        if (address === null) return null;
        const done = await this.whileAddressLocked(scope, address.key, async (ownerId) =>
          ownerId === subscriberId ? { result: await work({ id: subscriberId, ...address }) } : null,
        );
        if (done !== null) return done.result;
        // The subscriber has another address since, or was erased.
      }
    });
  }

  /**
   * Runs `work` in a transaction with the address of a person, another one and then the person locked; `ownerId`: the subscriber
   * who has the other address. The addresses in one order, so that two who swap theirs cannot lock each other out. Throws
   * NotFoundError.
   */
  async whileMoving<T>(
    scope: ProjectScope,
    ref: SubscriberRef,
    to: Pick<EmailAddress, 'key'>,
    work: (person: Person, ownerId: string | null) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const done = await this.database.transaction(scope, async () => {
        const { id, key } = await this.named(scope, ref);
        const [, [owner], [person]] = await this.database.together(
          lockAddresses(scope, [key, to.key]),
          sql<{ id: string }>`select b.id from audience.subscribers b
            where b.environment_id = ${scope.environmentId} and b.email_key = ${to.key}`,
          sql<Person>`select b.id, b.email as value, b.email_key as key from audience.subscribers b
            where b.environment_id = ${scope.environmentId} and b.id = ${id} for update`,
        );
        return person?.key === key ? { result: await work(person, owner?.id ?? null) } : null;
      });
      if (done !== null) return done.result;
      // The person has another address since, or was erased.
    }
  }

  /** Gives a locked person an address that is locked, too. Throws SubscriberExistsError where it is another's. */
  async move(
    scope: ProjectScope,
    { id, value: from }: Person,
    { value, key }: Pick<EmailAddress, 'value' | 'key'>,
    by: ChangedBy,
    at: Date,
  ): Promise<void> {
    const move = sql`
      update audience.subscribers set email = ${value}, email_key = ${key}, updated_at = ${at}
      where environment_id = ${scope.environmentId} and id = ${id}`;
    const changes = new Map([[id, { email: { from, to: value } }]]);
    await unlessOthers(this.database.together(move, recordingChanges(scope, by, changes, at)));
  }

  /** The same for a person whom a path names. Throws NotFoundError. */
  async whilePersonOwned<T>(
    scope: ProjectScope,
    ref: SubscriberRef,
    work: (person: Person) => Promise<T>,
  ): Promise<T> {
    if ('key' in ref)
      return this.whileAddressLocked(scope, ref.key, (id) => {
        if (id === null) throw new NotFoundError();
        return work({ id, key: ref.key, value: ref.value });
      });
    const person = await this.named(scope, ref);
    const done = await this.whileOwned(scope, person.id, async (owner) => ({ result: await work(owner) }));
    if (done === null) throw new NotFoundError();
    return done.result;
  }

  /** The person whom a path names. Throws NotFoundError. */
  named(scope: ProjectScope, ref: SubscriberRef): Promise<Person> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<Person>`
        select b.id, b.email as value, b.email_key as key from audience.subscribers b
        where b.environment_id = ${scope.environmentId} and ${isNamed(ref)}
      `.execute(this.database.tables());
      if (rows[0] === undefined) throw new NotFoundError();
      AuditTrail.current?.concerns(rows[0].id);
      return rows[0];
    });
  }

  /** The address that a path names: given, or of the person. Throws NotFoundError where it is given otherwise and nobody's. */
  async addressNamed(scope: ProjectScope, ref: SubscriberRef): Promise<Pick<EmailAddress, 'value' | 'key'>> {
    return 'key' in ref ? ref : this.named(scope, ref);
  }

  /**
   * Runs `work` in a transaction with addresses that mail went to locked, and then their present subscribers; without those of
   * people who were erased since. In one order, so that writers cannot lock each other out.
   */
  whileAllLocked<T>(
    scope: ProjectScope,
    mailed: readonly MailedAddress[],
    work: (addresses: readonly OwnedAddress[]) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(scope, async () => {
      const { environmentId } = scope;
      const keys = [...new Set(mailed.map(({ key }) => key))].toSorted();
      const ids = mailed.flatMap(({ subscriberId }) => subscriberId ?? []);
      const [, people] = await this.database.together(
        lockAddresses(scope, keys),
        sql<{ id: string; key: string }>`${named('lock_mailed_people')}
          select b.id, b.email_key as key from audience.subscribers b
          where b.environment_id = ${environmentId} and b.id = any(${ids}::uuid[] || array(
            select k.id from audience.subscribers k where k.environment_id = ${environmentId} and k.email_key = any(${keys}::text[])
          ))
          order by b.email_key for update`,
      );
      const known = new Set(people.map(({ id }) => id));
      const ownerOf = new Map(people.map(({ id, key }) => [key, id]));
      const kept = mailed.filter(({ subscriberId }) => subscriberId === null || known.has(subscriberId));
      const byKey = new Map(kept.map((one) => [one.key, one]));
      return work(
        [...byKey].map(([key, { value, subscriberId: mailedTo }]) => {
          return { key, value, subscriberId: ownerOf.get(key) ?? null, mailedTo };
        }),
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
  whileLocked<T>(scope: ProjectScope, ref: SubscriberRef, work: (person: Person) => Promise<T>): Promise<T> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<Person>`${named('lock_person')}
        select b.id, b.email as value, b.email_key as key from audience.subscribers b
        where b.environment_id = ${scope.environmentId} and ${isNamed(ref)} for update
      `.execute(this.database.tables());
      if (rows[0] === undefined) throw new NotFoundError();
      AuditTrail.current?.concerns(rows[0].id);
      return work(rows[0]);
    });
  }

  /** Writes the fields of a locked subscriber, and what changed of them. Throws SubscriberExistsError. */
  async #write(
    scope: ProjectScope,
    { id, updatedAt, ...person }: Subscriber,
    by: ChangedBy,
    changes: FieldChanges,
  ): Promise<void> {
    const writing = sql`${named('update_subscriber')}
      update audience.subscribers set external_id = ${person.externalId}, first_name = ${person.firstName},
        last_name = ${person.lastName}, phone = ${person.phone}, locale = ${person.locale}, time_zone = ${person.timeZone},
        custom_fields = ${JSON.stringify(person.customFields)}::jsonb, metadata = ${JSON.stringify(person.metadata)}::jsonb,
        updated_at = ${updatedAt}
      where environment_id = ${scope.environmentId} and id = ${id}`;
    const recording = recordingChanges(scope, by, new Map([[id, changes]]), updatedAt);
    await unlessOthers(this.database.together(writing, recording));
  }

  /** The id of the subscriber with this address, locked until the transaction ends; null when there is none. */
  async #lockByKey(scope: ProjectScope, emailKey: string): Promise<string | null> {
    const { rows } = await sql<{ id: string }>`${named('lock_subscriber_by_key')}
      select b.id from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.email_key = ${emailKey} for update
    `.execute(this.database.tables());
    AuditTrail.current?.concerns(rows[0]?.id ?? null);
    return rows[0]?.id ?? null;
  }
}

/** SQL condition: the subscriber `b` is the one whom a path names. */
export function isNamed(ref: SubscriberRef): RawBuilder<boolean> {
  if ('key' in ref) return sql<boolean>`b.email_key = ${ref.key}`;
  switch (ref.by) {
    case 'id':
      return sql<boolean>`b.id = ${ref.id}::uuid`;
    case 'externalId':
      return sql<boolean>`b.external_id = ${ref.id}`;
    case 'subscriberKey':
      return sql<boolean>`b.subscriber_key = ${ref.id}`;
  }
}

/** The class of advisory locks on addresses: whoever holds one alone decides about the address. */
export function addressLock({ environmentId }: ProjectScope, emailKey: string): RawBuilder<number> {
  return sql<number>`hashtextextended(${`${environmentId}:${emailKey}`}, 0)`;
}

/** Statement that locks addresses in one order. */
function lockAddresses({ environmentId }: ProjectScope, emailKeys: readonly string[]): RawBuilder<unknown> {
  const keys = [...new Set(emailKeys)].toSorted().map((key) => `${environmentId}:${key}`);
  return sql`${named('lock_addresses')}
    select pg_advisory_xact_lock(hashtextextended(k, 0)) from unnest(${keys}::text[]) k`;
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
    b.id, b.subscriber_key, b.email, b.external_id, b.first_name, b.last_name, b.phone, b.locale, b.time_zone, b.status,
    b.source, ${customFields} as custom_fields, b.metadata, b.created_at, b.updated_at`;
}
