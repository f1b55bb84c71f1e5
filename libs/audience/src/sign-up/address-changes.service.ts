import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type EmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { AddressProof, ConsentProof, ConsentTopic } from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { UnsubscriptionRepository } from '../consents/unsubscription.repository.js';
import { SubscriberExistsError } from '../subscribers/subscriber.errors.js';
import type { Person, SubscriberPatch, SubscriberRef, SubscriberView } from '../subscribers/subscriber.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SubscribersService } from '../subscribers/subscribers.service.js';
import { ErasedAddressesRepository } from '../suppressions/erased-addresses.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import { TopicRepository } from '../topics/topic.repository.js';
import { withFaults } from './upsert.service.js';

/** A person's new address, with other changes. */
export interface NewAddress {
  readonly address: Pick<EmailAddress, 'value' | 'key'>;
  /** Null: the caller has no proof that it is the person's. */
  readonly emailConfirmed: AddressProof | null;
  readonly patch: SubscriberPatch;
}

/** Clocks of clients may be ahead. */
const AHEAD_MS = 5 * 60_000;

/** Gives people other addresses: the person stays the same, what the old address left or confirmed holds for that one alone. */
@Injectable()
export class AddressChangesService {
  constructor(
    private readonly database: Database,
    private readonly subscribers: SubscriberRepository,
    private readonly changes: SubscribersService,
    private readonly suppressions: SuppressionRepository,
    private readonly erased: ErasedAddressesRepository,
    private readonly topics: TopicRepository,
    private readonly consents: ConsentRepository,
    private readonly unsubscriptions: UnsubscriptionRepository,
    private readonly clock: Clock,
  ) {}

  /** Throws NotFoundError, DomainValidationError, SuppressedError, SubscriberExistsError. */
  change(
    scope: ProjectScope,
    ref: SubscriberRef,
    wanted: NewAddress,
    proof: ConsentProof,
  ): Promise<SubscriberView> {
    const { address, emailConfirmed, patch } = wanted;
    return this.subscribers.whileMoving(scope, ref, address, async (person, ownerId) => {
      const isAhead = (emailConfirmed?.confirmedAt.getTime() ?? 0) > this.clock.now().getTime() + AHEAD_MS;
      const faults: Readonly<Record<string, string>> = isAhead
        ? { 'emailConfirmed.confirmedAt': 'must not be in the future' }
        : {};
      const by = { by: 'id', id: person.id } as const;
      const move = async () => {
        if (person.value === address.value) return this.changes.update(scope, by, patch, proof);
        if (person.key === address.key)
          await this.subscribers.move(scope, person, address, proof, this.clock.now());
        else if (ownerId === null) await this.#move(scope, person, wanted, proof);
        else await this.#refuse(scope, address.key);
        return this.changes.update(scope, by, patch, proof, true);
      };
      return withFaults(faults, move());
    });
  }

  async #move(
    scope: ProjectScope,
    person: Person,
    { address, emailConfirmed }: NewAddress,
    proof: ConsentProof,
  ): Promise<void> {
    const { id, key, value } = person;
    await this.suppressions.refuseSuppressed(scope, address.key);
    const at = this.clock.now();
    const before = await this.consents.ofSubscriber(scope, id);
    const left = (await this.erased.among(scope, [address.key])).get(address.key);
    const topicIds = before.map(({ topicId }) => topicId);
    const topics = await this.topics.ofIds(scope, topicIds);
    const asks = ({ id: topicId, doubleOptInEnabled }: ConsentTopic) =>
      left?.has(topicId) === true || (doubleOptInEnabled && emailConfirmed === null);
    await this.subscribers.move(scope, person, address, proof, at);
    await this.database.together(
      this.unsubscriptions.closing(scope, [id]),
      closingConfirmations(scope, id, at),
    );
    const order = {
      subscriberIds: [id],
      action: 'move',
      topics: topics.map((topic) => ({ id: topic.id, doubleOptInEnabled: asks(topic) })),
      addressChange: { from: value, to: address.value, emailConfirmed },
    } as const;
    await this.consents.change(scope, order, proof);
    await this.erased.keep(scope, key, before, at);
    if (left !== undefined) await this.erased.restore(scope, [address.key], { at, proof });
    await this.consents.refreshStatuses(scope, [id], at);
  }

  /** Throws the error about an address that is another's. */
  async #refuse(scope: ProjectScope, emailKey: string): Promise<never> {
    await this.suppressions.refuseSuppressed(scope, emailKey);
    throw new SubscriberExistsError('email');
  }
}

/** Statement by which links that an address of the person got confirm nothing for another one. */
const closingConfirmations = ({ environmentId }: ProjectScope, subscriberId: string, at: Date) => sql`
  update audience.confirmations set expires_at = ${at}
  where environment_id = ${environmentId} and subscriber_id = ${subscriberId} and expires_at > ${at}`;
