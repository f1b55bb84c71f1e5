import { hash, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import {
  type FeedbackEvent,
  type FeedbackFact,
  type FeedbackFormat,
  type FeedbackProof,
  type FeedbackRequest,
  type ReadFeedback,
  UnreadableFeedbackError,
} from '../feedback.js';
import { bounceOf } from './brevo-bounce.js';

/** Its value comes back in every event of the mail: https://developers.brevo.com/docs/transactional-webhooks */
export const TOKEN_HEADER = 'X-Mailin-custom';

/** Four times what a batch holds: https://developers.brevo.com/docs/batch-webhooks */
const MAX_EVENTS = 2_000;

/** https://developers.brevo.com/docs/transactional-webhooks */
const Event = z.object({
  event: z.string(),
  email: z
    .string()
    .regex(/^[^\s\p{C}]{1,255}$/u)
    .nullable()
    .catch(null),
  'message-id': z
    .string()
    .regex(/^<?[^\s<>\p{C}]{1,255}>?$/u)
    .transform((id) => id.replaceAll(/[<>]/g, ''))
    .nullable()
    .catch(null),
  [TOKEN_HEADER]: z
    .string()
    .regex(/^[\w+.-]{1,64}$/)
    .nullable()
    .catch(null),
  reason: z.string().catch(''),
});
/** One event, or a batch of them. */
const Body = z.union([z.array(z.unknown()).max(MAX_EVENTS), Event.transform((event) => [event])]);

/**
 * Transactional webhooks. They are not signed; `proof.key` is what the owner has set for them at Brevo: a bearer token, or
 * `user:password` as it stands in the URL.
 */
export const brevoFeedback: FeedbackFormat = {
  isGenuine: (request, proof) => Promise.resolve(isAuthorized(request, proof)),
  read: ({ body }): ReadFeedback => {
    const { success, data } = Body.safeParse(parsed(body));
    if (!success)
      throw new UnreadableFeedbackError(
        `must be an event of Brevo’s, or an array of at most ${MAX_EVENTS} of them`,
      );
    return { events: data.flatMap(eventsOf) };
  },
};

/** https://developers.brevo.com/docs/secured-webhooks; the scheme's case is free (RFC 7235 §2.1). */
function isAuthorized({ headers }: FeedbackRequest, { key }: FeedbackProof): boolean {
  const [, scheme = '', given = ''] = /^(\w{1,10}) +(\S{1,2000})$/.exec(headers['authorization'] ?? '') ?? [];
  if (key === null) return false;
  if (scheme.toLowerCase() === 'bearer') return isSame(given, key);
  return scheme.toLowerCase() === 'basic' && isSame(given, Buffer.from(key).toString('base64'));
}

/** In a time that tells nothing of either. */
function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', wanted, 'buffer'));
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return null;
  }
}

function eventsOf(value: unknown): FeedbackEvent[] {
  const { success, data } = Event.safeParse(value);
  const fact = success ? factOf(data) : null;
  if (!success || fact === null) return [];
  return [
    {
      ...fact,
      token: data[TOKEN_HEADER],
      providerMessageId: data['message-id'],
      address: data.email,
    },
  ];
}

/** What is only `deferred` Brevo tries again for 36 hours; opens and clicks are ours to count. */
function factOf({ event, reason }: z.infer<typeof Event>): FeedbackFact | null {
  switch (event) {
    case 'hard_bounce':
    case 'soft_bounce':
    case 'invalid_email':
    case 'blocked':
    case 'error':
      return bounceOf(event, reason);
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
