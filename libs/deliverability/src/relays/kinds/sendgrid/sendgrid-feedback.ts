import { createPublicKey, createVerify, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { listOf, readJson, shortField, textField, tokenField } from '../event-fields.js';
import type {
  FeedbackEvent,
  FeedbackFact,
  FeedbackFormat,
  FeedbackProof,
  FeedbackRequest,
} from '../feedback.js';
import type { FeedbackKeyForm } from '../kind.js';
import { factOfBounce, factOfDrop } from './sendgrid-bounce.js';

/**
 * The unique argument that carries our token; it comes back beside SendGrid's own properties, none of which it may be named
 * as. https://www.twilio.com/docs/sendgrid/for-developers/sending-email/unique-arguments
 */
export const TOKEN_ARGUMENT = 'mailwright';

/** No page names a number: more than the shortest events that it posts can be in 1 MB. */
const MAX_EVENTS = 5_000;
/**
 * SendGrid names no bound. It posts an event again for 24 hours, and does not say whether it signs it anew:
 * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook
 */
const MAX_AGE_MS = 25 * 60 * 60_000;
const MAX_AHEAD_MS = 5 * 60_000;

/** https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event */
const sendgridEvent = z.object({
  event: z.string(),
  email: shortField,
  // What follows the first dot tells SendGrid's servers and the recipient: …/docs/sendgrid/glossary/message-id
  sg_message_id: textField.transform((id): string | null => id.replace(/\..*$/s, '')).pipe(shortField),
  [TOKEN_ARGUMENT]: tokenField,
  reason: textField,
  status: textField,
  type: textField,
  bounce_classification: textField,
});

type SendgridEvent = z.output<typeof sendgridEvent>;

const sendgridEvents = listOf(sendgridEvent, MAX_EVENTS);

export const sendgridKey: FeedbackKeyForm = {
  isUsable: (key) => publicKeyOf(key) !== null,
  inWords: 'the verification key that SendGrid shows: a public key of the curve P-256, in base64',
};

/** The Signed Event Webhook. `proof.key` is its verification key as SendGrid shows it: SPKI in base64. */
export const sendgridFeedback: FeedbackFormat = {
  isGenuine: (request, proof) => Promise.resolve(isSigned(request, proof)),
  read: ({ body }) => ({ events: readJson(body, sendgridEvents).flatMap(eventsOf) }),
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

function eventsOf(event: SendgridEvent): FeedbackEvent[] {
  const fact = factOf(event);
  const { [TOKEN_ARGUMENT]: token, sg_message_id: providerMessageId, email: address } = event;
  return fact === null ? [] : [{ ...fact, token, providerMessageId, address }];
}

/** What is only put off is SendGrid's to try again; opens and clicks are ours to count. */
function factOf(event: SendgridEvent): FeedbackFact | null {
  switch (event.event) {
    case 'bounce':
      return factOfBounce(event);
    case 'dropped':
      return factOfDrop(event.reason);
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
