import { defineEvent } from '#kernel';
import type { BounceClass } from './bounce-rule.js';

/** A mail that came back. */
export interface ReportedBounce {
  readonly deliveryId: string;
  readonly bounceClass: BounceClass;
  /** Its destination refuses it for who we are, so that it should get less of our mail; not said when it does not. */
  readonly isDistrust?: true;
}

/** Mails came back, by reports that only who got them could send, or by what a relay's provider tells. */
export const BouncesReported = defineEvent<{ bounces: readonly ReportedBounce[] }>(
  'deliverability.bounces_reported.v1',
);

/** A mail came to the unsubscribe address of another, which only its reader knows. */
export const UnsubscribeMailed = defineEvent<{ deliveryId: string }>('deliverability.unsubscribe_mailed.v1');

/** A reader called a mail spam. */
export const ComplaintReported = defineEvent<{ deliveryId: string }>('deliverability.complaint_reported.v1');
