import { Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, type EmailAddress, newId, type ProjectScope } from '#kernel';
import { Publisher } from '#platform';
import { ConsentPublisher } from '../consents/consent-publisher.service.js';
import type { ConsentProof } from '../consents/consent-proof.js';
import { firstConsents } from '../consents/written-consents.query.js';
import type { CustomFieldValues } from '../custom-fields/custom-field.js';
import { applyCustomFields, customFieldPaths } from '../custom-fields/custom-field-values.js';
import { SubscriberLimitService } from '../plan/subscriber-limit.service.js';
import type { SubscriberPatch, SubscriberSource, SubscriberView } from '../subscribers/subscriber.js';
import { SuppressedError } from '../suppressions/suppression.errors.js';
import { topicKeyFaults } from '../topics/topic.js';
import { NewSubscribers, type SignUpTerms } from './new-subscribers.repository.js';
import { SubscriberExistsError } from './sign-up.errors.js';

/** A new subscriber, who consents to at least one topic. */
export type NewSubscriberInput = SubscriberPatch & {
  readonly address: EmailAddress;
  readonly topicKeys: readonly string[];
  readonly source: SubscriberSource;
};

/** Adds subscribers, with their first consents. */
@Injectable()
export class SignUpService {
  constructor(
    private readonly newSubscribers: NewSubscribers,
    private readonly limit: SubscriberLimitService,
    private readonly consents: ConsentPublisher,
    private readonly publisher: Publisher,
    private readonly clock: Clock,
  ) {}

  /** Throws DomainValidationError, SuppressedError, SubscriberExistsError. */
  create(scope: ProjectScope, input: NewSubscriberInput, proof: ConsentProof): Promise<SubscriberView> {
    const { address, topicKeys, customFields = {} } = input;
    const writesCustomFields = Object.keys(customFields).length > 0;
    const signUp = { emailKey: address.key, topicKeys, writesCustomFields };
    return this.newSubscribers.whileLocked(scope, signUp, async (terms) => {
      const values = checkedFields(input, terms);
      if (terms.isSuppressed) throw new SuppressedError();
      if (terms.isSubscriber) throw new SubscriberExistsError();
      await this.limit.admit(scope);
      return this.#insert(scope, input, values, terms, proof);
    });
  }

  async #insert(
    scope: ProjectScope,
    input: NewSubscriberInput,
    customFields: CustomFieldValues,
    { topics, isErased }: SignUpTerms,
    proof: ConsentProof,
  ): Promise<SubscriberView> {
    const at = this.clock.now();
    const { address, source, firstName = null, lastName = null, phone = null } = input;
    const { locale = null, timeZone = null } = input;
    const fields = { firstName, lastName, phone, locale, timeZone, customFields };
    const person = { id: newId(), address, source, ...fields };
    const first = firstConsents(topics, at);
    const subscriber = await this.newSubscribers.insert(scope, person, first, { at, proof }, isErased);
    const { id: subscriberId } = subscriber;
    // Before the consents, so that listeners know the subscriber first.
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
  }
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
