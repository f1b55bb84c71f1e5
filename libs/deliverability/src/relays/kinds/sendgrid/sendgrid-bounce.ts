import { classifyRefusal } from '../../../bounces/bounce-class.js';
import type { BounceClass } from '../../../bounces/bounce-rule.js';
import { refusalOf } from '../../../bounces/refusal-text.js';
import type { FeedbackFact } from '../feedback.js';

const MAX_EXCERPT = 500;

/** https://www.twilio.com/docs/sendgrid/ui/analytics-and-reporting/bounce-and-block-classifications */
const CLASSIFICATIONS: Readonly<Record<string, BounceClass>> = {
  'Invalid Address': 'hard',
  'Mailbox Unavailable': 'mailbox',
  Reputation: 'policy',
  'Frequency or Volume Too High': 'policy',
  Content: 'content',
  'Technical Failure': 'network',
  Unclassified: 'unknown',
};

/**
 * Why SendGrid does not even try: https://www.twilio.com/docs/sendgrid/glossary/drops. Its lists of addresses say the same of
 * an address as the event that put it there; what concerns our header or the account concerns every mail.
 */
const DROPS: Readonly<Record<string, BounceClass | 'complaint' | 'unsubscribed'>> = {
  'Bounced Address': 'hard',
  Invalid: 'hard',
  'Spam Reporting Address': 'complaint',
  'Unsubscribed Address': 'unsubscribed',
  'Spam Content': 'content',
  'Invalid SMTPAPI header': 'sender',
  'Recipient List over Package Quota': 'sender',
};

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
export function bounceOf({ reason, status, type, bounce_classification }: SendgridBounce): FeedbackFact {
  const { code, ...refusal } = refusalOf(reason, /^[45]\.\d{1,3}\.\d{1,3}$/.test(status) ? status : null);
  const said = { ...refusal, code: code || Number(/^[45]\d\d$/.exec(status)?.[0] ?? 0) };
  const bySaid = classifyRefusal(said);
  const judged = bySaid === 'unknown' ? classOf(bounce_classification, type) : bySaid;
  return {
    kind: 'bounce',
    class: type === 'blocked' && judged === 'hard' ? 'mailbox' : judged,
    basicCode: said.code || null,
    enhancedCode: said.enhancedCode,
    excerpt: excerptOf(reason),
  };
}

/** `type`: "a hard bounce (type=bounce) or block (type=blocked)", …/for-developers/tracking-events/event */
function classOf(classification: string, type: string): BounceClass {
  const known = Object.hasOwn(CLASSIFICATIONS, classification) ? CLASSIFICATIONS[classification] : undefined;
  return known ?? (type === 'bounce' ? 'hard' : 'unknown');
}

/** A `dropped` event: the mail was not sent, and `reason` is SendGrid's own. */
export function dropOf(reason: string): FeedbackFact {
  const meaning = (Object.hasOwn(DROPS, reason) ? DROPS[reason] : undefined) ?? 'unknown';
  if (meaning === 'complaint' || meaning === 'unsubscribed') return { kind: meaning };
  return {
    kind: 'bounce',
    class: meaning,
    basicCode: null,
    enhancedCode: null,
    excerpt: excerptOf(reason),
  };
}

function excerptOf(text: string): string | null {
  return text.replaceAll('\0', '').slice(0, MAX_EXCERPT).toWellFormed().trim() || null;
}
