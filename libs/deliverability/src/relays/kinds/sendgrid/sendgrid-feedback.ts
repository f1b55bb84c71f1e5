import { createPublicKey, createVerify, type KeyObject } from 'node:crypto';
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
import { bounceOf, dropOf } from './sendgrid-bounce.js';

/**
 * The unique argument that carries our token; it comes back beside SendGrid's own properties, none of which it may be named
 * as. https://www.twilio.com/docs/sendgrid/for-developers/sending-email/unique-arguments
 */
export const TOKEN_ARGUMENT = 'mailwright';

const MAX_EVENTS = 2_000;
/**
 * SendGrid names no bound. It posts an event again for 24 hours, and does not say whether it signs it anew:
 * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook
 */
const MAX_AGE_MS = 25 * 60 * 60_000;
const MAX_AHEAD_MS = 5 * 60_000;

const words = z.string().catch('');
/** https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event */
const Event = z.object({
  event: z.string(),
  email: z
    .string()
    .regex(/^[^\s\p{C}]{1,255}$/u)
    .nullable()
    .catch(null),
  sg_message_id: z
    .string()
    .regex(/^[\w.-]{1,255}$/)
    .nullable()
    .catch(null),
  [TOKEN_ARGUMENT]: z
    .string()
    .regex(/^[\w+.-]{1,64}$/)
    .nullable()
    .catch(null),
  reason: words,
  status: words,
  type: words,
  bounce_classification: words,
});
const Body = z.array(z.unknown()).max(MAX_EVENTS);

/** The Signed Event Webhook. `proof.key` is its verification key as SendGrid shows it: SPKI in base64. */
export const sendgridFeedback: FeedbackFormat = {
  isGenuine: (request, proof) => Promise.resolve(isSigned(request, proof)),
  read: ({ body }): ReadFeedback => {
    const { success, data } = Body.safeParse(parsed(body));
    if (!success)
      throw new UnreadableFeedbackError(`must be an array of at most ${MAX_EVENTS} SendGrid events`);
    return { events: data.flatMap(eventsOf) };
  },
};

/** Over the timestamp and the body: …/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features */
function isSigned({ headers, body, receivedAt }: FeedbackRequest, { key }: FeedbackProof): boolean {
  const timestamp = headers['x-twilio-email-event-webhook-timestamp'] ?? '';
  const signature = headers['x-twilio-email-event-webhook-signature'] ?? '';
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  const age = receivedAt.getTime() - Number(timestamp) * 1_000;
  const publicKey = publicKeyOf(key ?? '');
  if (publicKey === null || age > MAX_AGE_MS || age < -MAX_AHEAD_MS) return false;
  return createVerify('sha256').update(timestamp).update(body).verify(publicKey, signature, 'base64');
}

function publicKeyOf(spki: string): KeyObject | null {
  try {
    const key = createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : null;
  } catch {
    return null;
  }
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
      token: data[TOKEN_ARGUMENT],
      // What follows the first dot tells SendGrid's servers and the recipient: …/docs/sendgrid/glossary/message-id
      providerMessageId: data.sg_message_id?.split('.')[0] ?? null,
      address: data.email,
    },
  ];
}

/** What is only put off is SendGrid's to try again; opens and clicks are ours to count. */
function factOf(event: z.infer<typeof Event>): FeedbackFact | null {
  switch (event.event) {
    case 'bounce':
      return bounceOf(event);
    case 'dropped':
      return dropOf(event.reason);
    case 'delivered':
      return { kind: 'delivered' };
    case 'spamreport':
      return { kind: 'complaint' };
    case 'unsubscribe':
    case 'group_unsubscribe':
      return { kind: 'unsubscribed' };
    default:
      return null;
  }
}
