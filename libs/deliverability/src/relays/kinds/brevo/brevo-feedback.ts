import { z } from 'zod';
import type { BounceClass } from '../../../bounces/bounce-rule.js';
import { bounceOf, listOf, readJson, shortField, textField, tokenField } from '../event-fields.js';
import type {
  FeedbackEvent,
  FeedbackFact,
  FeedbackFormat,
  FeedbackProof,
  FeedbackRequest,
} from '../feedback.js';
import { sameSecret } from '../same-secret.js';

/** Its value comes back in every event of the mail: https://developers.brevo.com/docs/transactional-webhooks */
export const TOKEN_HEADER = 'X-Mailin-custom';

/** What a batch holds: https://developers.brevo.com/docs/batch-webhooks */
const MAX_EVENTS = 500;

/** https://developers.brevo.com/docs/transactional-webhooks */
const brevoEvent = z.object({
  event: z.string(),
  email: shortField,
  'message-id': textField.transform((id): string | null => id.replaceAll(/^<|>$/g, '')).pipe(shortField),
  [TOKEN_HEADER]: tokenField,
  reason: textField,
});

type BrevoEvent = z.output<typeof brevoEvent>;

/** One event, or a batch of them. */
const brevoEvents = z.union([listOf(brevoEvent, MAX_EVENTS), brevoEvent.transform((event) => [event])]);

/**
 * Transactional webhooks. They are not signed; `proof.key` is what the owner has set for them at Brevo: a bearer token, or
 * `user:password` as it stands in the URL.
 */
export const brevoFeedback: FeedbackFormat = {
  isGenuine: (request, proof) => Promise.resolve(isAuthorized(request, proof)),
  read: ({ body }) => ({ events: readJson(body, brevoEvents).flatMap(eventsOf) }),
};

/** https://developers.brevo.com/docs/secured-webhooks; the scheme's case is free (RFC 7235 §2.1). */
function isAuthorized({ headers }: FeedbackRequest, { key }: FeedbackProof): boolean {
  const [, scheme = '', given = ''] = /^(\w{1,10}) +(\S{1,2000})$/.exec(headers['authorization'] ?? '') ?? [];
  if (key === null) return false;
  if (scheme.toLowerCase() === 'bearer') return sameSecret(given, key);
  return scheme.toLowerCase() === 'basic' && sameSecret(given, Buffer.from(key).toString('base64'));
}

function eventsOf(event: BrevoEvent): FeedbackEvent[] {
  const fact = factOf(event);
  const { [TOKEN_HEADER]: token, 'message-id': providerMessageId, email: address } = event;
  return fact === null ? [] : [{ ...fact, token, providerMessageId, address }];
}

/**
 * What each event means where its words tell nothing. After a hard bounce Brevo itself sends the address no more; a soft one
 * was tried for 36 hours: https://help.brevo.com/hc/en-us/articles/209435165. The others:
 * https://developers.brevo.com/reference/gettransacemailcontent
 */
const BOUNCES = new Map<string, BounceClass>([
  ['hard_bounce', 'hard'],
  ['soft_bounce', 'unknown'],
  ['invalid_email', 'hard'],
  ['error', 'network'],
]);

/**
 * The server's words come first: to Brevo "the address doesn't exist" and "the server has blocked the delivery" are both hard
 * bounces, and a domain that doesn't exist is a soft one. What is only `deferred` Brevo tries again for 36 hours; opens and clicks
 * are ours to count.
 */
function factOf({ event, reason }: BrevoEvent): FeedbackFact | null {
  if (event === 'blocked') return factOfBlock(reason);
  const meaning = BOUNCES.get(event);
  if (meaning !== undefined)
    return bounceOf({ words: reason }, (byWords) => (byWords === 'unknown' ? meaning : byWords));
  switch (event) {
    case 'delivered':
      return { kind: 'delivered' };
    case 'spam':
    case 'complaint':
      return { kind: 'complaint' };
    case 'unsubscribed':
    case 'unsubscribe':
      return { kind: 'unsubscribed' };
    default:
      return null;
  }
}

/**
 * A mail that no server has seen: `blocked : due to unsubscribed user`, or `… blacklist user` for one that is on Brevo's list for
 * whatever reason, a bounce that was the sender's fault among them. That is no word of a dead address.
 */
function factOfBlock(reason: string): FeedbackFact {
  if (/\bunsubscribed\b/i.test(reason)) return { kind: 'unsubscribed' };
  return bounceOf({ words: reason }, (byWords) => (byWords === 'hard' ? 'unknown' : byWords));
}
