import { classifyRefusal } from '../../../bounces/bounce-class.js';
import type { BounceClass } from '../../../bounces/bounce-rule.js';
import { refusalOf } from '../../../bounces/refusal-text.js';
import type { FeedbackFact } from '../feedback.js';

const MAX_EXCERPT = 500;

/**
 * What each event means where its words tell nothing. After a hard bounce Brevo itself sends the address no more; a soft one
 * was tried for 36 hours: https://help.brevo.com/hc/en-us/articles/209435165. The others:
 * https://developers.brevo.com/reference/gettransacemailcontent
 */
const MEANINGS = {
  hard_bounce: 'hard',
  soft_bounce: 'mailbox',
  invalid_email: 'hard',
  error: 'network',
  blocked: 'unknown',
} as const satisfies Record<string, BounceClass>;

/**
 * The server's words come first: to Brevo "the address doesn't exist" and "the server has blocked the delivery" are both hard
 * bounces, and a domain that doesn't exist is a soft one. A `blocked` mail no server has seen: its words are Brevo's own,
 * and say neither why the address is on its list nor whether it is the sender who is.
 */
export function bounceOf(event: keyof typeof MEANINGS, reason: string): FeedbackFact {
  const isBrevos = event === 'blocked';
  const refusal = refusalOf(isBrevos ? '' : reason, null);
  const bySaid = classifyRefusal(refusal);
  return {
    kind: 'bounce',
    class: bySaid === 'unknown' ? MEANINGS[event] : bySaid,
    basicCode: refusal.code || null,
    enhancedCode: refusal.enhancedCode,
    excerpt: reason.replaceAll('\0', '').slice(0, MAX_EXCERPT).toWellFormed().trim() || null,
  };
}
