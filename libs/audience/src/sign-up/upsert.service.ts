import { Injectable } from '@nestjs/common';
import { Clock, DomainError, DomainValidationError, type ProjectScope } from '#kernel';
import { consentProof, type ConsentProof, statusAt, UnsubscribedError } from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import type { SubscriberPatch, SubscriberRef, SubscriberView } from '../subscribers/subscriber.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import type { ChangedBy } from '../subscribers/field-changes.service.js';
import { SubscribersService } from '../subscribers/subscribers.service.js';
import { ErasedAddressesRepository } from '../suppressions/erased-addresses.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import { topicKeyFaults } from '../topics/topic.js';
import { TopicRepository } from '../topics/topic.repository.js';
import { type NewSubscriberInput, SignUpService } from './sign-up.service.js';

/** A person to create, or to change and subscribe to topics. */
export interface Upsert {
  readonly patch: SubscriberPatch;
  readonly topicKeys: readonly string[];
  readonly by: ChangedBy;
  /** Null: not given. */
  readonly proof: ConsentProof | null;
  /** The person asked to come back to topics that the address had left. */
  readonly resubscribe: boolean;
  /** The language of a new subscriber where the patch has none. */
  readonly locale: string | null;
}

export interface Upserted {
  readonly subscriber: SubscriberView;
  readonly isNew: boolean;
}

type Faults = Readonly<Record<string, string>>;

/** Creates the person with an address, or changes the one who has it: one after the other, with the address locked. */
@Injectable()
export class UpsertService {
  constructor(
    private readonly signUps: SignUpService,
    private readonly changes: SubscribersService,
    private readonly subscribers: SubscriberRepository,
    private readonly suppressions: SuppressionRepository,
    private readonly erased: ErasedAddressesRepository,
    private readonly topics: TopicRepository,
    private readonly consents: ConsentRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Throws NotFoundError for a person who is not named by address and does not exist, DomainValidationError,
   * SubscriberExistsError, SuppressedError, UnsubscribedError.
   */
  upsert(scope: ProjectScope, ref: SubscriberRef, wanted: Upsert): Promise<Upserted> {
    if (!('key' in ref))
      return this.subscribers.whilePersonOwned(scope, ref, (person) => this.#change(scope, person, wanted));
    return this.subscribers.whileAddressLocked(scope, ref.key, (id) =>
      id === null ? this.#create(scope, ref, wanted) : this.#change(scope, { ...ref, id }, wanted),
    );
  }

  async #create(
    scope: ProjectScope,
    address: NewSubscriberInput['address'],
    { patch, topicKeys, proof, resubscribe, locale }: Upsert,
  ): Promise<Upserted> {
    const faults = {
      ...(topicKeys.length === 0 && { topicKeys: 'is required for a new subscriber' }),
      ...(proof === null && { consent: 'is required for a new subscriber' }),
    };
    const left = await this.erased.among(scope, [address.key]);
    const topics = [...(await this.topics.named(scope, topicKeys)).values()];
    const input = { locale, ...patch, address, topicKeys, source: 'API' } as const;
    // Also where something is missing, so that all faults are told: nothing of it stays then.
    const subscriber = await withFaults(faults, this.signUps.create(scope, input, proof ?? NO_PROOF));
    const leftTopics = topics.filter(({ id }) => left.get(address.key)?.has(id) === true);
    if (!resubscribe && leftTopics.length > 0)
      throw new UnsubscribedError(leftTopics.map(({ topicKey }) => topicKey));
    return { subscriber, isNew: true };
  }

  async #change(
    scope: ProjectScope,
    { id, key }: { readonly id: string; readonly key: string },
    { patch, topicKeys, by, proof, resubscribe }: Upsert,
  ): Promise<Upserted> {
    const topics = [...(await this.topics.named(scope, topicKeys)).values()];
    const now = this.clock.now();
    const consents = await this.consents.ofSubscriber(scope, id);
    const statuses = new Map(consents.map((consent) => [consent.topicId, statusAt(consent, now)]));
    const wanted = topics.filter((topic) => {
      const status = statuses.get(topic.id);
      return status !== 'SUBSCRIBED' && status !== 'PENDING_CONFIRMATION';
    });
    const faults = {
      ...topicKeyFaults(topics, topicKeys),
      ...(wanted.length > 0 && proof === null && { consent: 'is required to subscribe to topics' }),
    };
    await withFaults(faults, this.changes.update(scope, { by: 'id', id }, patch, by));
    if (topicKeys.length > 0) await this.suppressions.refuseSuppressed(scope, key);
    const left = wanted.filter((topic) => statuses.get(topic.id) === 'UNSUBSCRIBED');
    if (!resubscribe && left.length > 0) throw new UnsubscribedError(left.map(({ topicKey }) => topicKey));
    const order = { subscriberIds: [id], action: 'grant', topics: wanted } as const;
    if (wanted.length > 0) await this.consents.change(scope, order, proof ?? NO_PROOF);
    return { subscriber: await this.subscribers.view(scope, id), isNew: false };
  }
}

/** Stands in where a faulty request has none: what is done with it is undone. */
const NO_PROOF = consentProof('API_KEY', null);

/** The result of `work`. Throws DomainValidationError with these faults and those of the work, if there are any. */
export async function withFaults<Result>(faults: Faults, work: Promise<Result>): Promise<Result> {
  const areNone = Object.keys(faults).length === 0;
  const result = await work.catch((error: unknown) => {
    if (areNone || !(error instanceof DomainError)) throw error;
    throw new DomainValidationError(
      error instanceof DomainValidationError ? { ...faults, ...error.errors } : faults,
    );
  });
  if (!areNone) throw new DomainValidationError(faults);
  return result;
}
