import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { isUnconfirmed } from '../consents/consent.js';
import { consentProof, type ConsentWording } from '../consents/consent-proof.js';
import { ConsentWriter } from '../consents/consent-writer.repository.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import type { TopicTexts } from '../topics/topic-texts.js';
import type { ConfirmationState } from './confirmation.js';
import { ConfirmationRepeats } from './confirmation-repeats.service.js';
import { ConfirmationsQuery, type ConfirmationStanding } from './confirmations.query.js';
import { ResendTooSoonError } from './sign-up.errors.js';

export interface ConfirmationDescription {
  /** `gone`: no such request, or nothing to confirm. */
  readonly state: ConfirmationState;
  readonly email: string;
  /** BCP 47; null where it is not known. */
  readonly locale: string | null;
  readonly topics: readonly TopicTexts[];
}

export interface ConfirmingPerson {
  readonly ipAddress: string;
  readonly userAgent: string | null;
  /** The Message-ID of the mail with the link, if known. */
  readonly messageId?: string | null;
  /** Of the page with the button, and what it said. */
  readonly wording?: ConsentWording;
  readonly consentText?: string;
}

/** Confirms consents by the link of a confirmation mail. */
@Injectable()
export class ConfirmationsService {
  constructor(
    private readonly subscribers: SubscriberRepository,
    private readonly query: ConfirmationsQuery,
    private readonly consents: ConsentWriter,
    private readonly repeats: ConfirmationRepeats,
  ) {}

  /** Reads what the link's page shows. Changes nothing. */
  async describe(scope: ProjectScope, confirmationId: string): Promise<ConfirmationDescription> {
    const standing = await this.query.standing(scope, confirmationId);
    if (standing === null || standing.state === 'gone')
      return { state: 'gone', email: '', locale: null, topics: [] };
    const { state, subscriber, consents } = standing;
    const shown = consents.filter((consent) =>
      state === 'confirmed' ? consent.status === 'SUBSCRIBED' : isUnconfirmed(consent),
    );
    const { email, locale } = subscriber;
    return { state, email, locale, topics: await this.query.topicsOf(scope, shown) };
  }

  /** Confirms the pending topics. */
  confirm(
    scope: ProjectScope,
    confirmationId: string,
    by: ConfirmingPerson,
  ): Promise<'confirmed' | 'already-confirmed' | 'expired' | 'gone'> {
    return this.#whileHeld(scope, confirmationId, async (standing) => {
      if (standing === null || standing.state === 'gone') return 'gone';
      if (standing.state === 'expired') return 'expired';
      const subscriberIds = [standing.confirmation.subscriberId];
      const topicIds = standing.consents.map(({ topicId }) => topicId);
      const proof = consentProof('SUBSCRIBER_PAGE', confirmationId, by);
      const order = { subscriberIds, action: 'confirm', topicIds } as const;
      const outcomes = await this.consents.change(scope, order, proof);
      return outcomes.some(({ isDone }) => isDone) ? 'confirmed' : 'already-confirmed';
    });
  }

  /**
   * Replaces an expired mail by a new one for the topics that were neither confirmed nor revoked since, within the limits of
   * a resend.
   */
  async requestAnother(
    scope: ProjectScope,
    confirmationId: string,
  ): Promise<'sent' | 'too-soon' | 'not-needed'> {
    try {
      return await this.#whileHeld(scope, confirmationId, async (standing) => {
        if (standing?.state !== 'open' && standing?.state !== 'expired') return 'not-needed';
        const proof = consentProof('SUBSCRIBER_PAGE', confirmationId);
        const { subscriberId } = standing.confirmation;
        const topicIds = standing.consents.filter(isUnconfirmed).map(({ topicId }) => topicId);
        return (await this.repeats.send(scope, subscriberId, topicIds, proof)) ? 'sent' : 'not-needed';
      });
    } catch (error) {
      if (error instanceof ResendTooSoonError) return 'too-soon';
      throw error;
    }
  }

  /** Runs `work` with the current state of a request, with its subscriber locked. */
  async #whileHeld<T>(
    scope: ProjectScope,
    confirmationId: string,
    work: (standing: ConfirmationStanding | null) => Promise<T>,
  ): Promise<T> {
    const standing = await this.query.standing(scope, confirmationId);
    if (standing === null) return work(null);
    return this.subscribers.whileHeld(scope, standing.confirmation.subscriberId, async () =>
      work(await this.query.standing(scope, confirmationId)),
    );
  }
}
