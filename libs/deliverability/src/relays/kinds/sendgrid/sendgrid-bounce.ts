import type { BounceClass } from '../../../bounces/bounce-rule.js';
import { bounceOf } from '../event-fields.js';
import type { FeedbackFact } from '../feedback.js';

/** https://www.twilio.com/docs/sendgrid/ui/analytics-and-reporting/bounce-and-block-classifications */
const CLASSIFICATIONS = new Map<string, BounceClass>([
  ['Invalid Address', 'hard'],
  ['Mailbox Unavailable', 'mailbox'],
  ['Reputation', 'policy'],
  ['Frequency or Volume Too High', 'policy'],
  ['Content', 'content'],
  ['Technical Failure', 'network'],
  ['Unclassified', 'unknown'],
]);

/**
 * Why SendGrid does not even try: https://www.twilio.com/docs/sendgrid/glossary/drops. Its lists of addresses say the same of
 * an address as the event that put it there; what concerns our header or the account concerns every mail.
 */
const DROPS = new Map<string, BounceClass | 'complaint' | 'unsubscribed'>([
  ['Bounced Address', 'hard'],
  ['Invalid', 'hard'],
  ['Spam Reporting Address', 'complaint'],
  ['Unsubscribed Address', 'unsubscribed'],
  ['Spam Content', 'content'],
  ['Invalid SMTPAPI header', 'sender'],
  ['Recipient List over Package Quota', 'sender'],
]);

/** The properties of a `bounce` event, '' for what it lacks. */
export interface SendgridBounce {
  /** The receiving server's words. */
  readonly reason: string;
  /** An enhanced code, or only a basic one. */
  readonly status: string;
  readonly type: string;
  readonly bounce_classification: string;
}

/**
 * The server's words come first, which the same table reads whichever relay carried the mail: SendGrid's seven classes know
 * none for a sender that is set up wrong. Where the words tell nothing, its classification does, then the `type`. A block
 * says nothing of the address ("would not accept the message temporarily"), whatever the words are: it is never hard.
 */
export function factOfBounce({ reason, status, type, bounce_classification }: SendgridBounce): FeedbackFact {
  const told = { words: reason, enhancedCode: status, code: Number(status) };
  return bounceOf(told, (byWords) => {
    const judged = byWords === 'unknown' ? classOf(bounce_classification, type) : byWords;
    return type === 'blocked' && judged === 'hard' ? 'mailbox' : judged;
  });
}

/** `type`: "a hard bounce (type=bounce) or block (type=blocked)", …/for-developers/tracking-events/event */
function classOf(classification: string, type: string): BounceClass {
  return CLASSIFICATIONS.get(classification) ?? (type === 'bounce' ? 'hard' : 'unknown');
}

/** A `dropped` event: the mail was not sent, and `reason` is SendGrid's own. */
export function factOfDrop(reason: string): FeedbackFact {
  const meaning = DROPS.get(reason) ?? 'unknown';
  if (meaning === 'complaint' || meaning === 'unsubscribed') return { kind: meaning };
  return bounceOf({ words: reason }, () => meaning);
}
