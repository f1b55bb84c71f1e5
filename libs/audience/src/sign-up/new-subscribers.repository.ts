import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, environmentOf, prepared } from '#platform';
import { addressLock } from '../addresses/address-lock.query.js';
import { ErasedAddresses } from '../addresses/erased-addresses.repository.js';
import type { ConsentOccasion } from '../consents/consent-proof.js';
import { requestMails, wakeForConsents } from '../consents/consent-writer.repository.js';
import { type FirstConsents, selectedForMade, written } from '../consents/written-consents.query.js';
import type { CustomFieldDefinition } from '../custom-fields/custom-field.js';
import { definitionsLock } from '../custom-fields/custom-field.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import { type GrantableTopic, isTopicKey } from '../topics/topic.js';
import type { SubscriberFields, SubscriberSource, SubscriberView } from '../subscribers/subscriber.js';
import { newSubscriberColumns } from '../subscribers/subscriber-columns.query.js';

export interface NewSubscriber extends SubscriberFields {
  readonly id: string;
  readonly address: { readonly value: string; readonly key: string };
  readonly source: SubscriberSource;
}

/** A sign-up: an address and the fields to write with it. */
export interface SignUp {
  readonly emailKey: string;
  readonly topicKeys: readonly string[];
  readonly writesCustomFields: boolean;
}

/** The facts that decide about a sign-up, locked until the transaction ends. */
export interface SignUpTerms {
  readonly isSubscriber: boolean;
  readonly isSuppressed: boolean;
  /** Whether a subscriber with this address was erased not long ago. */
  readonly isErased: boolean;
  /** The topics with these keys, in the order of their ids. */
  readonly topics: readonly GrantableTopic[];
  /** The project's active custom fields, oldest first; locked when values are written. */
  readonly definitions: readonly CustomFieldDefinition[];
}

/**
 * Signs up subscribers one by one, in few round trips: a lock, one query for all facts, and one statement that writes the
 * subscriber, the consents and their record.
 */
@Injectable()
export class NewSubscribers {
  constructor(
    private readonly database: Database,
    private readonly suppressions: SuppressionRepository,
    private readonly erased: ErasedAddresses,
  ) {}

  /** Runs `work` in a transaction that alone decides about the address. */
  whileLocked<T>(scope: ProjectScope, signUp: SignUp, work: (terms: SignUpTerms) => Promise<T>): Promise<T> {
    return this.database.transaction(scope, async () => {
      const locks = sql`${prepared}select pg_advisory_xact_lock(${addressLock(scope, signUp.emailKey)})`;
      await (
        signUp.writesCustomFields
          ? sql`${locks}, pg_advisory_xact_lock_shared(${definitionsLock(scope)})`
          : locks
      ).execute(this.database.tables());
      // A separate statement, so that it sees the changes of those who held the locks before.
      return work(await this.#terms(scope, signUp));
    });
  }

  async #terms(scope: ProjectScope, { emailKey, topicKeys }: SignUp): Promise<SignUpTerms> {
    const keys = [...new Set(topicKeys)].filter(isTopicKey);
    const { rows } = await sql<SignUpTerms>`${prepared}
      with named as (
        select t.id, t.topic_key as "topicKey", t.status, t.double_opt_in_enabled as "doubleOptInEnabled"
        from audience.topics t
        where t.environment_id = ${scope.environmentId} and t.topic_key = any(${keys}::text[]) and t.deleted_at is null
        order by t.id for key share
      )
      select
        (
          select b.id from audience.subscribers b
          where b.environment_id = ${environmentOf(scope)} and b.email_key = ${emailKey}
        ) is not null as is_subscriber,
        ${this.suppressions.isAddressSuppressed(scope, emailKey)} as is_suppressed,
        ${this.erased.isAddressErased(scope, emailKey)} as is_erased,
        coalesce((select json_agg(n) from named n), '[]') as topics,
        coalesce((
          select json_agg(json_build_object('key', f.key, 'type', f.type, 'displayName', f.display_name, 'isRequired',
            f.is_required, 'defaultValue', f.default_value, 'options', f.options, 'status', f.status)
            order by f.created_at, f.id)
          from audience.custom_fields f where f.environment_id = ${scope.environmentId} and f.status = 'ACTIVE'
        ), '[]') as definitions
    `.execute(this.database.tables());
    return rows[0]!;
  }

  /**
   * Creates, in the open transaction, a subscriber with the first consents, the consent record and the confirmation mail,
   * if needed. Other topics that an erased address had left stay left.
   */
  async insert(
    scope: ProjectScope,
    { id, address, source, customFields, ...fields }: NewSubscriber,
    first: FirstConsents,
    occasion: ConsentOccasion,
    isErased: boolean,
  ): Promise<SubscriberView> {
    const { at } = occasion;
    const { rows } = await sql<SubscriberView & { readonly confirmationId: string | null }>`${prepared}
      with made as (
        insert into audience.subscribers as b (id, environment_id, subscriber_key, email, email_key, first_name,
          last_name, phone, locale, time_zone, custom_fields, source, status, created_at, updated_at)
        values (${id}, ${scope.environmentId}, access.next_key('subscriber'), ${address.value}, ${address.key},
          ${fields.firstName}, ${fields.lastName}, ${fields.phone}, ${fields.locale}, ${fields.timeZone},
          ${JSON.stringify(customFields)}::jsonb, ${source}, ${first.status}, ${at}, ${at})
        returning *
      ), ${written(scope, selectedForMade(first), 'new', occasion)}
      select ${newSubscriberColumns}, a.id as confirmation_id from made b left join asked a on true
    `.execute(this.database.tables());
    wakeForConsents(this.database, first.consents);
    if (isErased) await this.erased.restore(scope, [address.key], occasion);
    const { confirmationId, ...subscriber } = rows[0]!;
    await requestMails(this.database, scope, confirmationId === null ? [] : [confirmationId]);
    return subscriber;
  }
}
