import { defineEvent } from '#kernel';
import type { BounceClass } from './bounce-rule.js';

/** A mail came back, by a report that only who got it could send. */
export const BounceReported = defineEvent<{
  deliveryId: string;
  bounceClass: BounceClass;
  /** Its destination refuses it for who we are, so that it should get less of our mail; not said when it does not. */
  isDistrust?: true;
}>('deliverability.bounce_reported.v1');

/** A mail came to the unsubscribe address of another, which only its reader knows. */
export const UnsubscribeMailed = defineEvent<{ deliveryId: string }>('deliverability.unsubscribe_mailed.v1');

/** A reader called a mail spam. */
export const ComplaintReported = defineEvent<{ deliveryId: string }>('deliverability.complaint_reported.v1');
