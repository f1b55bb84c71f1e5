import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  Clock,
  DomainValidationError,
  type EmailAddress,
  newId,
  patchedMetadata,
  type ProjectScope,
} from '#kernel';
import { AuditTrail, Database, named, Publisher } from '#platform';
import { addressLock, newSubscriberColumns } from '../subscribers/subscriber.repository.js';
import { ErasedAddressesRepository } from '../suppressions/erased-addresses.repository.js';
import {
  type ChangeContext,
  type ConsentProof,
  type FirstConsents,
  firstConsents,
} from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import type { CustomFieldDefinition, CustomFieldValues } from '../custom-fields/custom-field.js';
import { definitionsLock } from '../custom-fields/custom-field.repository.js';
import { applyCustomFields, customFieldPaths } from '../custom-fields/custom-field-values.js';
import { refuseFull, SubscriberLimitService } from '../subscriber-limit.service.js';
import type { SubscriberPatch, SubscriberSource, SubscriberView } from '../subscribers/subscriber.js';
import { SubscriberExistsError, unlessOthers } from '../subscribers/subscriber.errors.js';
import { SuppressedError } from '../suppressions/suppression.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import { type GrantableTopic, isTopicKey, topicKeyFaults } from '../topics/topic.js';

/** A new subscriber, who consents to at least one topic. */
export type NewSubscriberInput = SubscriberPatch & {
  readonly address: Pick<EmailAddress, 'value' | 'key'>;
  readonly topicKeys: readonly string[];
  readonly source: SubscriberSource;
};

/** The facts that decide about a sign-up, locked until the transaction ends. */
interface SignUpTerms {
  readonly isSubscriber: boolean;
  readonly isSuppressed: boolean;
  /** A subscriber with this address was erased not long ago. */
  readonly isErased: boolean;
  /** The topics with these keys, in the order of their ids. */
  readonly topics: readonly GrantableTopic[];
  /** The project's active custom fields, oldest first; locked when values are written. */
  readonly definitions: readonly CustomFieldDefinition[];
}

/** Signs up new people with their first consents, one at a time and in few round trips; imports do it for many. */
@Injectable()
export class SignUpService {
  constructor(
    private readonly database: Database,
    private readonly consents: ConsentRepository,
    private readonly suppressions: SuppressionRepository,
    private readonly erased: ErasedAddressesRepository,
    private readonly limit: SubscriberLimitService,
    private readonly publisher: Publisher,
    private readonly clock: Clock,
  ) {}

  /**
   * Three messages to the database: the locks with what decides, what is written, and the commit; more where somebody listens.
   * Throws DomainValidationError, SuppressedError, SubscriberExistsError.
   */
  create(scope: ProjectScope, input: NewSubscriberInput, proof: ConsentProof): Promise<SubscriberView> {
    return this.database.transaction(scope, async () => {
      const [, [found], [reservation]] = await this.database.together(
        locks(scope, input),
        this.#terms(scope, input),
        this.limit.reservation(scope),
      );
      const terms = found!;
      const customFields = checkedFields(input, terms);
      if (terms.isSuppressed) throw new SuppressedError();
      if (terms.isSubscriber) throw new SubscriberExistsError('email');
      refuseFull(reservation!);
      const context = { at: this.clock.now(), proof };
      const first = firstConsents(terms.topics, context.at);
      const making = makingOf(scope, { ...input, customFields }, first, context);
      const writing = await this.consents.creation(scope, making, newSubscriberColumns, first, context);
      const [[made]] = await unlessOthers(this.database.together(...writing));
      const subscriber = made!;
      AuditTrail.current?.concerns(subscriber.id);
      // Other topics that an erased address had left stay left.
      if (terms.isErased) await this.erased.restore(scope, [input.address.key], context);
      // Before the consents, so that listeners know the subscriber first.
      const { id: subscriberId } = subscriber;
      await this.publisher.publish(scope, {
        type: 'subscriber.created',
        subscriberId,
        data: { ...subscriber },
      });
      await this.consents.publish(
        scope,
        first.outcomes.map((outcome) => ({ ...outcome, subscriberId })),
        proof,
      );
      return subscriber;
    });
  }

  /** Statement of its own after the locks, so that it sees the changes of those who held them before. */
  #terms(scope: ProjectScope, { address, topicKeys }: NewSubscriberInput): RawBuilder<SignUpTerms> {
    const keys = [...new Set(topicKeys)].filter(isTopicKey);
    return sql<SignUpTerms>`${named('sign_up_terms')}
      with topic as (
        select t.id, t.topic_key as "topicKey", t.status, t.double_opt_in_enabled as "doubleOptInEnabled"
        from audience.topics t
        where t.environment_id = ${scope.environmentId} and t.topic_key = any(${keys}::text[]) and t.deleted_at is null
        order by t.id for key share
      )
      select
        (
          select b.id from audience.subscribers b
          where b.environment_id = ${scope.environmentId} and b.email_key = ${address.key}
        ) is not null as is_subscriber,
        ${this.suppressions.isAddressSuppressed(scope, address.key)} as is_suppressed,
        ${this.erased.isAddressErased(scope, address.key)} as is_erased,
        coalesce((select json_agg(t) from topic t), '[]') as topics,
        coalesce((
          select json_agg(json_build_object('key', f.key, 'type', f.type, 'displayName', f.display_name, 'isRequired',
            f.is_required, 'defaultValue', f.default_value, 'options', f.options, 'status', f.status)
            order by f.created_at, f.id)
          from audience.custom_fields f where f.environment_id = ${scope.environmentId} and f.status = 'ACTIVE'
        ), '[]') as definitions`;
  }
}

/** Locks the address, about which the transaction alone decides, and the definitions of custom fields if there are values. */
function locks(scope: ProjectScope, { address, customFields = {} }: NewSubscriberInput): RawBuilder<unknown> {
  const ofAddress = sql`${named('lock_address')} select pg_advisory_xact_lock(${addressLock(scope, address.key)})`;
  const ofBoth = sql`${ofAddress}, pg_advisory_xact_lock_shared(${definitionsLock(scope)})`;
  return Object.keys(customFields).length > 0 ? ofBoth : ofAddress;
}

/** The `making` of `ConsentRepository.creation`. */
function makingOf(
  scope: ProjectScope,
  input: NewSubscriberInput & { readonly customFields: CustomFieldValues },
  { status }: FirstConsents,
  { at }: ChangeContext,
): RawBuilder<unknown> {
  const { address, customFields, metadata, source } = input;
  const {
    externalId = null,
    firstName = null,
    lastName = null,
    phone = null,
    locale = null,
    timeZone = null,
  } = input;
  return sql`${named('make_subscriber')}
    with made as (
      insert into audience.subscribers as b (id, environment_id, subscriber_key, email, email_key, external_id,
        first_name, last_name, phone, locale, time_zone, custom_fields, metadata, source, status, created_at, updated_at)
      values (${newId()}, ${scope.environmentId}, access.next_key('subscriber'), ${address.value}, ${address.key}, ${externalId},
        ${firstName}, ${lastName}, ${phone}, ${locale}, ${timeZone},
        ${JSON.stringify(customFields)}::jsonb, ${JSON.stringify(patchedMetadata({}, metadata))}::jsonb, ${source}, ${status}, ${at}, ${at})
      returning *
    )`;
}

/** Reads the custom fields. Throws DomainValidationError with all errors in them and in the topics. */
function checkedFields(
  { topicKeys, customFields = {} }: NewSubscriberInput,
  { topics, definitions }: SignUpTerms,
): CustomFieldValues {
  const custom = applyCustomFields(definitions, {}, customFields, 'create');
  const fieldErrors = 'errors' in custom ? customFieldPaths(custom.errors) : {};
  const errors = { ...topicKeyFaults(topics, topicKeys), ...fieldErrors };
  if ('errors' in custom || Object.keys(errors).length > 0) throw new DomainValidationError(errors);
  return custom.values;
}
