import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { SuppressedError } from '../suppressions/suppression.errors.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import { type GrantableTopic, grantFault } from '../topics/topic.js';
import { TopicRepository } from '../topics/topic.repository.js';
import { secondsUntilRepeat } from './confirmation.js';
import { ConfirmationRepository } from './confirmation.repository.js';
import type { Consent } from './consent.js';
import { ResendTooSoonError } from './consent.errors.js';
import { ConsentChanges, type ConsentChanger, type ConsentOccasion } from './consent-changes.service.js';

/** The topics that consent can be granted to, and what is wrong with the other keys, by their place in the request. */
export interface TopicChoice {
  readonly topics: readonly GrantableTopic[];
  readonly faults: readonly (string | null)[];
}

/** The choice of these keys among the topics that they name. */
export function topicChoice(topics: readonly GrantableTopic[], topicKeys: readonly string[]): TopicChoice {
  const byKey = new Map(topics.map((topic) => [topic.topicKey, topic]));
  return { topics, faults: topicKeys.map((key) => grantFault(byKey.get(key))) };
}

/** Grants consents and asks for their confirmation, for a new subscriber or one that is there. */
@Injectable()
export class OptIns {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(TopicRepository) private readonly topics: TopicRepository,
    @Inject(SuppressionRepository) private readonly suppressions: SuppressionRepository,
    @Inject(ConfirmationRepository) private readonly confirmations: ConfirmationRepository,
    @Inject(ConsentChanges) private readonly changes: ConsentChanges,
  ) {}

  /** Looks the topics up; a key that is named twice counts once. */
  async choose(scope: ProjectScope, topicKeys: readonly string[]): Promise<TopicChoice> {
    return topicChoice([...(await this.topics.named(scope, topicKeys)).values()], topicKeys);
  }

  /** Throws SuppressedError. */
  async refuseSuppressed(scope: ProjectScope, emailKey: string): Promise<void> {
    if ((await this.suppressions.find(scope, emailKey)) !== null) throw new SuppressedError();
  }

  /** Grants consent to each of the topics, with one confirmation mail for all that need it. Throws ConsentExistsError. */
  grant(
    scope: ProjectScope,
    subscriberId: string,
    topics: readonly GrantableTopic[],
    occasion: ConsentOccasion,
  ): Promise<readonly Consent[]> {
    const grantAll: ConsentChanger = (consents) =>
      topics.map(({ id, doubleOptInEnabled }) => {
        const consent = consents.to(id);
        consent.grant(doubleOptInEnabled, occasion.at);
        return consent;
      });
    return this.database.transaction(scope, async () => {
      const granted = await this.changes.apply(scope, subscriberId, occasion, grantAll);
      await this.ask(scope, subscriberId, granted, occasion.at);
      return granted;
    });
  }

  /** Sends one confirmation mail for all of these consents that need it, as they were just granted. */
  async ask(scope: ProjectScope, subscriberId: string, granted: readonly Consent[], at: Date): Promise<void> {
    const pending = granted.filter(({ status }) => status === 'PENDING_CONFIRMATION');
    await this.#sendMail(scope, subscriberId, pending, { at, isRepeat: false });
  }

  /**
   * Sends another confirmation mail for the consents that `reopen` leaves pending; false when there are none.
   * Throws ResendTooSoonError.
   */
  askAgain(
    scope: ProjectScope,
    subscriberId: string,
    occasion: ConsentOccasion,
    reopen: ConsentChanger,
  ): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const pending = await this.changes.apply(scope, subscriberId, occasion, async (consents) => {
        const reopened = await reopen(consents);
        await this.#refuseTooSoon(scope, subscriberId, reopened, occasion.at);
        return reopened;
      });
      await this.#sendMail(scope, subscriberId, pending, { at: occasion.at, isRepeat: true });
      return pending.length > 0;
    });
  }

  async #refuseTooSoon(
    scope: ProjectScope,
    subscriberId: string,
    consents: readonly Consent[],
    now: Date,
  ): Promise<void> {
    const repeats = await this.confirmations.repeats(scope, subscriberId, now);
    const waits = consents.map(({ topicId }) => secondsUntilRepeat(repeats.get(topicId) ?? [], now));
    const seconds = Math.max(0, ...waits);
    if (seconds > 0) throw new ResendTooSoonError(seconds);
  }

  async #sendMail(
    scope: ProjectScope,
    subscriberId: string,
    pending: readonly Consent[],
    { at, isRepeat }: { readonly at: Date; readonly isRepeat: boolean },
  ): Promise<void> {
    if (pending.length === 0) return;
    const topicIds = pending.map(({ topicId }) => topicId);
    await this.confirmations.add(scope, { subscriberId, topicIds, isRepeat }, at);
  }
}
