import { Injectable } from '@nestjs/common';
import { consentProof, SuppressionsService } from '#audience';
import { CONSEQUENCES, type MailFailure } from '#deliverability';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DeliveryKind } from '../../deliveries/delivery.js';
import { LinkedMails } from '../../deliveries/linked-mails.service.js';
import { isMailboxGivenUp } from '../events/mailbox-streaks.query.js';

/** A mail that the next hop refused, that came back, or that was called spam. */
export interface FailedMail {
  readonly deliveryId: string;
  readonly kind: DeliveryKind;
  readonly subscriberId: string | null;
  readonly address: string;
  readonly addressKey: string;
  /** When it was sent or refused. */
  readonly finishedAt: Date | null;
}

/** Sees to what a failure means for the address, however it became known. */
@Injectable()
export class AddressConsequences {
  constructor(
    private readonly database: Database,
    private readonly suppressions: SuppressionsService,
    private readonly mails: LinkedMails,
  ) {}

  /** In the open transaction, which has recorded and counted the failure: addresses are locked last. */
  async follow(scope: ProjectScope, mail: FailedMail, failure: MailFailure): Promise<void> {
    const { address: consequence } = CONSEQUENCES[failure];
    if (consequence === 'keep') return;
    if (consequence === 'suppress-after-streak' && !(await this.#isGivenUp(scope, mail))) return;
    const [reason, actor] =
      failure === 'complaint'
        ? (['SPAM_COMPLAINT', 'COMPLAINT'] as const)
        : (['HARD_BOUNCE', 'BOUNCE'] as const);
    const proof = consentProof(actor, mail.deliveryId);
    // By the person, who may have been erased meanwhile and must not come back with an address.
    const subscriberId = failure === 'complaint' ? await this.#complainant(scope, mail) : mail.subscriberId;
    if (subscriberId !== null) {
      await this.suppressions.suppressSubscriber(scope, subscriberId, reason, proof);
      return;
    }
    const parsed = parseEmailAddress(mail.address);
    if ('address' in parsed) await this.suppressions.suppress(scope, parsed.address, reason, proof);
  }

  /**
   * Who has the address of the mail now: they want no more mail, whoever they were when it was sent. A bounce is not followed so,
   * since it tells of the address as it was then.
   */
  async #complainant(scope: ProjectScope, mail: FailedMail): Promise<string | null> {
    const reader = await this.mails.readerOf(scope, { ...mail, id: mail.deliveryId });
    return typeof reader === 'string' ? mail.subscriberId : reader.subscriberId;
  }

  async #isGivenUp(scope: ProjectScope, { kind, subscriberId, finishedAt }: FailedMail): Promise<boolean> {
    if (kind !== 'CAMPAIGN' || subscriberId === null || finishedAt === null) return false;
    return isMailboxGivenUp(this.database, scope, { subscriberId, finishedAt });
  }
}
