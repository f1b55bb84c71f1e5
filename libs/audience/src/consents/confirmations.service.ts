import { Inject, Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { type ConfirmationState, coveredBy } from './confirmation.js';
import { ConfirmationsQuery, type ConfirmationStanding } from './confirmations.query.js';
import { ConsentChanges } from './consent-changes.service.js';
import { ResendTooSoonError } from './consent.errors.js';
import { consentProof } from './consent-proof.js';
import { OptIns } from './opt-ins.service.js';

export interface ConfirmationDescription {
  /** `gone`: no such request, or nothing that it could confirm. */
  readonly state: ConfirmationState;
  readonly email: string;
  readonly topicNames: string[];
}

export interface ConfirmingPerson {
  readonly ipAddress: string;
  readonly userAgent: string | null;
  /** The Message-ID of the mail whose link was followed, where it is known. */
  readonly messageId?: string | null;
}

/** What the owner of an address does with the link of a confirmation mail. */
@Injectable()
export class ConfirmationsService {
  constructor(
    @Inject(SubscriberRepository) private readonly subscribers: SubscriberRepository,
    @Inject(ConfirmationsQuery) private readonly query: ConfirmationsQuery,
    @Inject(ConsentChanges) private readonly changes: ConsentChanges,
    @Inject(OptIns) private readonly optIns: OptIns,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** What the link's page shows. Changes nothing. */
  async describe(scope: ProjectScope, confirmationId: string): Promise<ConfirmationDescription> {
    const standing = await this.query.standing(scope, confirmationId);
    if (standing === null || standing.state === 'gone') return { state: 'gone', email: '', topicNames: [] };
    const { state, subscriber, consents } = standing;
    const shown = consents.filter(({ isUnconfirmed, status }) =>
      state === 'confirmed' ? status === 'SUBSCRIBED' : isUnconfirmed,
    );
    return { state, email: subscriber.email, topicNames: await this.query.topicNames(scope, shown) };
  }

  /** Confirms the topics that wait for it. */
  confirm(
    scope: ProjectScope,
    confirmationId: string,
    by: ConfirmingPerson,
  ): Promise<'confirmed' | 'already-confirmed' | 'expired' | 'gone'> {
    return this.#whileHeld(scope, confirmationId, async (standing) => {
      if (standing === null || standing.state === 'gone') return 'gone';
      if (standing.state === 'expired') return 'expired';
      const { confirmation } = standing;
      const at = this.clock.now();
      const proof = consentProof('SUBSCRIBER_PAGE', confirmationId, by);
      const confirmed = await this.changes.apply(
        scope,
        confirmation.subscriberId,
        { at, proof },
        (consents) => coveredBy(confirmation, consents.all).filter((consent) => consent.confirm(at)),
      );
      return confirmed.length > 0 ? 'confirmed' : 'already-confirmed';
    });
  }

  /**
   * Sends a new mail in the place of an expired one, for those of its topics that were neither confirmed nor
   * revoked since; within the limits of a resend.
   */
  async requestAnother(
    scope: ProjectScope,
    confirmationId: string,
  ): Promise<'sent' | 'too-soon' | 'not-needed'> {
    try {
      return await this.#whileHeld(scope, confirmationId, async (standing) => {
        if (standing?.state !== 'open' && standing?.state !== 'expired') return 'not-needed';
        const { confirmation } = standing;
        const at = this.clock.now();
        const occasion = { at, proof: consentProof('SUBSCRIBER_PAGE', confirmationId) };
        const asked = await this.optIns.askAgain(scope, confirmation.subscriberId, occasion, (consents) =>
          coveredBy(confirmation, consents.all).filter((consent) => consent.askAgain(at)),
        );
        return asked ? 'sent' : 'not-needed';
      });
    } catch (error) {
      if (error instanceof ResendTooSoonError) return 'too-soon';
      throw error;
    }
  }

  /** Decides about a request as it stands while nobody else changes its subscriber. */
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
