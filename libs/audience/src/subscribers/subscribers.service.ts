import { Inject, Injectable } from '@nestjs/common';
import {
  Clock,
  DomainValidationError,
  type EmailAddress,
  newId,
  NotFoundError,
  type ProjectScope,
} from '#kernel';
import { Database } from '#platform';
import type { ConsentProof } from '../consents/consent-proof.js';
import { OptIns } from '../consents/opt-ins.service.js';
import type { Topic } from '../topics/topic.js';
import { SubscriberExistsError } from './subscriber.errors.js';
import {
  customFieldFaults,
  type Subscriber,
  type SubscriberFields,
  type SubscriberSource,
  type SubscriberStatus,
} from './subscriber.js';
import { SubscriberRepository } from './subscriber.repository.js';

/** What a client may change; a field that is left out stays, null clears it. */
export type SubscriberPatch = {
  readonly [Field in keyof SubscriberFields]?: SubscriberFields[Field] | undefined;
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
    @Inject(Database) private readonly database: Database,
    @Inject(SubscriberRepository) private readonly subscribers: SubscriberRepository,
    @Inject(OptIns) private readonly optIns: OptIns,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Throws DomainValidationError, SuppressedError, SubscriberExistsError. */
  create(scope: ProjectScope, input: NewSubscriberInput, proof: ConsentProof): Promise<Subscriber> {
    const { address, topicKeys, customFields = {} } = input;
    return this.database.transaction(scope, async () => {
      const { topics, faults } = await this.optIns.choose(scope, topicKeys);
      const errors = { ...topicFaults(faults), ...customFieldFaults(customFields) };
      if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
      await this.subscribers.lockAddress(scope, address.key);
      await this.optIns.refuseSuppressed(scope, address.key);
      if ((await this.subscribers.find(scope, address.key)) !== null) throw new SubscriberExistsError();
      return this.#insert(scope, input, topics, proof);
    });
  }

  /** Throws NotFoundError, DomainValidationError. */
  update(scope: ProjectScope, address: EmailAddress, patch: SubscriberPatch): Promise<Subscriber> {
    return this.database.transaction(scope, async () => {
      await this.subscribers.lockByKey(scope, address.key);
      const subscriber = await this.subscribers.find(scope, address.key);
      if (subscriber === null) throw new NotFoundError();
      const errors = customFieldFaults(patch.customFields ?? {});
      if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
      const fields = patched(subscriber, patch);
      if (fields === null) return subscriber;
      return this.subscribers.update(scope, subscriber.id, fields, this.clock.now());
    });
  }

  async #insert(
    scope: ProjectScope,
    { address, firstName = null, lastName = null, phone = null, source }: NewSubscriberInput,
    topics: readonly Topic[],
    proof: ConsentProof,
  ): Promise<Subscriber> {
    const at = this.clock.now();
    const newcomer = {
      id: newId(),
      address,
      firstName,
      lastName,
      phone,
      source,
      status: firstStatus(topics),
    };
    const subscriber = await this.subscribers.insert(scope, newcomer, at);
    await this.optIns.grant(scope, { id: newcomer.id, isNew: true }, topics, { at, proof });
    return subscriber;
  }
}

/** What `audience.derived_status` says once the consents are granted: the address is not suppressed. */
function firstStatus(topics: readonly Topic[]): SubscriberStatus {
  return topics.every((topic) => topic.doubleOptInEnabled) ? 'PENDING_CONFIRMATION' : 'ACTIVE';
}

function topicFaults(faults: readonly (string | null)[]): Record<string, string> {
  return Object.fromEntries(
    faults.flatMap((fault, index) => (fault === null ? [] : [[`topicKeys[${index}]`, fault]])),
  );
}

/** The fields after the patch, or null when it changes none. */
function patched(current: SubscriberFields, patch: SubscriberPatch): SubscriberFields | null {
  const { firstName = current.firstName, lastName = current.lastName, phone = current.phone } = patch;
  const isSame = firstName === current.firstName && lastName === current.lastName && phone === current.phone;
  return isSame ? null : { firstName, lastName, phone };
}
