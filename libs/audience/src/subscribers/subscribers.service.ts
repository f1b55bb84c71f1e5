import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import {
  Clock,
  DomainValidationError,
  type EmailAddress,
  newId,
  NotFoundError,
  type ProjectScope,
} from '#kernel';
import { AudienceAnnouncements } from '../announcements/audience-announcements.service.js';
import { Consent } from '../consents/consent.js';
import type { ConsentProof } from '../consents/consent-proof.js';
import { OptIns, topicChoice } from '../consents/opt-ins.service.js';
import type { CustomFieldValues } from '../custom-fields/custom-field.js';
import { applyCustomFields, customFieldPaths } from '../custom-fields/custom-field-values.js';
import { CustomFieldsQuery } from '../custom-fields/custom-fields.query.js';
import { SuppressedError } from '../suppressions/suppression.errors.js';
import type { GrantableTopic } from '../topics/topic.js';
import { Newcomers } from './newcomers.repository.js';
import { SubscriberExistsError } from './subscriber.errors.js';
import {
  type Subscriber,
  type SubscriberFields,
  type SubscriberSource,
  type SubscriberStatus,
} from './subscriber.js';
import { SubscriberLimit } from './subscriber-limit.service.js';
import { SubscriberRepository } from './subscriber.repository.js';

/** What a client may change; a field that is left out stays, null clears it. The same holds for each custom field. */
export type SubscriberPatch = {
  readonly [Field in Exclude<keyof SubscriberFields, 'customFields'>]?: SubscriberFields[Field] | undefined;
} & { readonly customFields?: Readonly<Record<string, unknown>> | undefined };

/** A new subscriber, who consents to at least one topic. */
export type NewSubscriberInput = SubscriberPatch & {
  readonly address: EmailAddress;
  readonly topicKeys: readonly string[];
  readonly source: SubscriberSource;
};

/** Takes subscribers in, with their first consents, and changes what is known of them. */
@Injectable()
export class SubscribersService {
  constructor(
    @Inject(SubscriberRepository) private readonly subscribers: SubscriberRepository,
    @Inject(Newcomers) private readonly newcomers: Newcomers,
    @Inject(OptIns) private readonly optIns: OptIns,
    @Inject(CustomFieldsQuery) private readonly definitions: CustomFieldsQuery,
    @Inject(SubscriberLimit) private readonly limit: SubscriberLimit,
    @Inject(AudienceAnnouncements) private readonly announcements: AudienceAnnouncements,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Throws DomainValidationError, SuppressedError, SubscriberExistsError. */
  create(scope: ProjectScope, input: NewSubscriberInput, proof: ConsentProof): Promise<Subscriber> {
    const { address, topicKeys, customFields = {} } = input;
    const writesCustomFields = Object.keys(customFields).length > 0;
    const arrival = { emailKey: address.key, topicKeys, writesCustomFields };
    return this.newcomers.whileReceived(scope, arrival, async (reception) => {
      const { topics, faults } = topicChoice(reception.topics, topicKeys);
      const custom = checked(applyCustomFields(reception.definitions, {}, customFields, 'create'), {});
      refuse({ ...topicFaults(faults), ...custom.errors });
      if (reception.isSuppressed) throw new SuppressedError();
      if (reception.isSubscriber) throw new SubscriberExistsError();
      await this.limit.admit(scope);
      return this.#insert(scope, input, custom.values, topics, proof);
    });
  }

  /** Throws NotFoundError, DomainValidationError. */
  update(scope: ProjectScope, address: EmailAddress, patch: SubscriberPatch): Promise<Subscriber> {
    return this.subscribers.whileLocked(scope, address.key, async () => {
      const subscriber = await this.subscribers.find(scope, address.key);
      if (subscriber === null) throw new NotFoundError();
      const { customFields: changes = {} } = patch;
      const custom = await this.#customFields(scope, subscriber.customFields, changes);
      refuse(custom.errors);
      const fields = patched(subscriber, patch, custom.values);
      if (fields === null) return subscriber;
      const updated = await this.subscribers.update(scope, subscriber.id, fields, this.clock.now());
      await this.announcements.subscriber(scope, 'subscriber.updated', updated);
      return updated;
    });
  }

  /** The values after the changes, and what is wrong with those, by path. */
  async #customFields(
    scope: ProjectScope,
    current: CustomFieldValues,
    changes: Readonly<Record<string, unknown>>,
  ): Promise<CheckedValues> {
    if (Object.keys(changes).length === 0) return { values: current, errors: {} };
    const definitions = await this.definitions.definitionsToWrite(scope);
    return checked(applyCustomFields(definitions, current, changes, 'update'), current);
  }

  async #insert(
    scope: ProjectScope,
    { address, firstName = null, lastName = null, phone = null, source }: NewSubscriberInput,
    customFields: CustomFieldValues,
    topics: readonly GrantableTopic[],
    proof: ConsentProof,
  ): Promise<Subscriber> {
    const at = this.clock.now();
    const consents = topics.map(({ id, doubleOptInEnabled }) => {
      const consent = new Consent(id, null);
      consent.grant(doubleOptInEnabled, at);
      return consent;
    });
    const newcomer = { id: newId(), address, firstName, lastName, phone, customFields, source };
    const subscriber = await this.newcomers.insert(
      scope,
      { ...newcomer, status: firstStatus(topics) },
      consents,
      { at, proof },
    );
    // Before the consents: who hears of those shall know whose they are.
    await this.announcements.subscriber(scope, 'subscriber.created', subscriber);
    await this.announcements.consents(scope, subscriber.id, consents);
    await this.optIns.ask(scope, subscriber.id, consents, at);
    return subscriber;
  }
}

/** Values after some changes, and what is wrong with those, by path. */
interface CheckedValues {
  readonly values: CustomFieldValues;
  readonly errors: Readonly<Record<string, string>>;
}

function checked(result: ReturnType<typeof applyCustomFields>, current: CustomFieldValues): CheckedValues {
  if ('errors' in result) return { values: current, errors: customFieldPaths(result.errors) };
  return { values: result.values, errors: {} };
}

/** What `audience.derived_status` says once the consents are granted: the address is not suppressed. */
function firstStatus(topics: readonly GrantableTopic[]): SubscriberStatus {
  return topics.every((topic) => topic.doubleOptInEnabled) ? 'PENDING_CONFIRMATION' : 'ACTIVE';
}

function topicFaults(faults: readonly (string | null)[]): Record<string, string> {
  return Object.fromEntries(
    faults.flatMap((fault, index) => (fault === null ? [] : [[`topicKeys[${index}]`, fault]])),
  );
}

/** The fields after the patch, or null when it changes none. */
function patched(
  current: SubscriberFields,
  patch: SubscriberPatch,
  customFields: CustomFieldValues,
): SubscriberFields | null {
  const { firstName = current.firstName, lastName = current.lastName, phone = current.phone } = patch;
  const isSame =
    firstName === current.firstName &&
    lastName === current.lastName &&
    phone === current.phone &&
    isDeepStrictEqual(customFields, current.customFields);
  return isSame ? null : { firstName, lastName, phone, customFields };
}

function refuse(errors: Readonly<Record<string, string>>): void {
  if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
}
