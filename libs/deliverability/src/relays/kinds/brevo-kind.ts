import { z } from 'zod';
import type { BounceClass } from '../../bounces/bounce-class.js';
import {
  bounceOf,
  eventsOf,
  listOf,
  readJson,
  sameSecret,
  shortField,
  textField,
  tokenField,
} from './event-fields.js';
import type { FeedbackFact, FeedbackProof, FeedbackRequest, RelayKindRules } from './kind.js';

/** Its value comes back in every event of the mail: https://developers.brevo.com/docs/transactional-webhooks */
const TOKEN_HEADER = 'X-Mailin-custom';

/** Most events of a batch: https://developers.brevo.com/docs/batch-webhooks */
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
 * Brevo by SMTP: its user is the login of its SMTP settings, its password an SMTP key. Port 587 offers STARTTLS.
 * https://developers.brevo.com/docs/smtp-integration
 */
export const brevoKind: RelayKindRules = {
  name: 'Brevo',
  options: {},
  endpoint: () => ({ host: 'smtp-relay.brevo.com', port: 587, tls: 'REQUIRED' }),
  // Message-ID is kept. From is replaced only as long as the domain is not authenticated at Brevo, which is to be put right,
  // not to be signed for: https://help.brevo.com/hc/en-us/articles/16045394674066
  replacedHeaders: [],
  // Not X-Mailin-Tag too: tags are what its statistics are grouped by.
  headersOf: ({ token }) => [[TOKEN_HEADER, token]],
  /**
   * `2.0.0 OK: queued as <…>`, as the logs of its users show; no page of Brevo's tells of it. It is the mail's Message-ID where
   * it has one. The events have it with or without the brackets.
   */
  messageIdOf: (replyText) => /\bqueued as <([^<>\s]{1,255})>/i.exec(replyText)?.[1] ?? null,
  // As a Message-ID is (RFC 5322 §3.6.4).
  idIsUnique: true,
  // The return path is one of Brevo's own. Its pages do not say so; others have seen it:
  // https://www.captaindns.com/en/blog/brevo-transactional-email-technical-guide
  dnsRecords: ['OWNERSHIP', 'DKIM', 'DMARC'],
  feedback: {
    isGenuine: isAuthorized,
    read: ({ body }) => ({
      events: readJson(body, brevoEvents).flatMap((event) => {
        const { [TOKEN_HEADER]: token, 'message-id': providerMessageId, email: address } = event;
        return eventsOf(factOf(event), { token, providerMessageId, address });
      }),
    }),
  },
};

/**
 * Transactional webhooks are not signed; `key` is set for them at Brevo: a bearer token, or `user:password` as in the URL.
 * https://developers.brevo.com/docs/secured-webhooks; the scheme's case is free (RFC 7235 §2.1).
 */
function isAuthorized({ headers }: FeedbackRequest, { key }: FeedbackProof): boolean {
  const [, scheme = '', given = ''] = /^(\w{1,10}) +(\S{1,2000})$/.exec(headers['authorization'] ?? '') ?? [];
  if (key === null) return false;
  if (scheme.toLowerCase() === 'bearer') return sameSecret(given, key);
  return scheme.toLowerCase() === 'basic' && sameSecret(given, Buffer.from(key).toString('base64'));
}

/**
 * The class of each event if its words tell nothing. After a hard bounce Brevo itself sends the address no more; a soft one
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
 * bounces, and a domain that doesn't exist is a soft one. Brevo retries `deferred` ones for 36 hours; opens and clicks are ours.
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
 * A mail that no server has seen: `blocked : due to unsubscribed user`, or `… blacklist user` for one that is on Brevo's
 * list for whatever reason, a bounce that was the sender's fault among them. That is no word of a dead address.
 */
function factOfBlock(reason: string): FeedbackFact {
  if (/\bunsubscribed\b/i.test(reason)) return { kind: 'unsubscribed' };
  return bounceOf({ words: reason }, (byWords) => (byWords === 'hard' ? 'unknown' : byWords));
}
