import { z } from 'zod';
import type { BounceClass } from '../../../bounces/bounce-rule.js';
import {
  bounceOf,
  jsonOf,
  listField,
  shortField,
  shortText,
  textField,
  tokenField,
} from '../event-fields.js';
import type { FeedbackEvent, FeedbackFact } from '../feedback.js';

const TAG = 'mailwright';
/** A mail's: docs.aws.amazon.com/ses/latest/dg/quotas.html */
const MAX_RECIPIENTS = 50;

const recipient = z.object({
  emailAddress: shortField,
  action: textField,
  status: shortField,
  diagnosticCode: textField,
});

/** notification-contents.html (`notificationType`) and event-publishing-retrieving-sns-contents.html (`eventType`). */
const sesEvent = z.object({
  eventType: shortField,
  notificationType: shortField,
  mail: z
    .object({
      messageId: shortField,
      destination: listField(shortText, MAX_RECIPIENTS),
      tags: z.object({ [TAG]: listField(shortText, 1) }).catch({ [TAG]: [] }),
    })
    .catch({ messageId: null, destination: [], tags: { [TAG]: [] } }),
  bounce: z
    .object({
      bounceType: textField,
      bounceSubType: textField,
      bouncedRecipients: listField(recipient, MAX_RECIPIENTS),
    })
    .catch({ bounceType: '', bounceSubType: '', bouncedRecipients: [] }),
  complaint: z
    .object({ complaintFeedbackType: textField, complainedRecipients: listField(recipient, MAX_RECIPIENTS) })
    .catch({ complaintFeedbackType: '', complainedRecipients: [] }),
  delivery: z.object({ recipients: listField(shortText, MAX_RECIPIENTS) }).catch({ recipients: [] }),
  reject: z.object({ reason: textField }).catch({ reason: '' }),
  subscription: z
    .object({ newTopicPreferences: z.object({ unsubscribeAll: z.boolean() }) })
    .catch({ newTopicPreferences: { unsubscribeAll: false } }),
});

type SesEvent = z.output<typeof sesEvent>;
type Recipient = z.output<typeof recipient>;
type AddressedFact = FeedbackFact & { readonly address: string | null };

/**
 * The events of a notification's `Message`: one a recipient. None in what SES says when a topic is set up, which is a
 * sentence (“Successfully validated SNS topic for Amazon SES event publishing.”) or of another type.
 */
export function readSesEvent(message: string): FeedbackEvent[] {
  const event = jsonOf(message, sesEvent);
  if (event === null) return [];
  const about = { token: tokenOf(event.mail.tags[TAG]), providerMessageId: event.mail.messageId };
  return factsOf(event).map((fact) => ({ ...fact, ...about }));
}

function factsOf(event: SesEvent): AddressedFact[] {
  const toAll = (fact: FeedbackFact): AddressedFact[] =>
    event.mail.destination.map((address) => ({ ...fact, address }));
  switch (event.eventType ?? event.notificationType) {
    case 'Bounce':
      return bouncesOf(event.bounce);
    case 'Complaint':
      return complaintsOf(event.complaint);
    case 'Delivery':
      return event.delivery.recipients.map((address) => ({ kind: 'delivered', address }));
    case 'Reject':
      // The one reason there is: SES found a virus, and sends the mail to nobody.
      return toAll(bounceOf({ words: event.reject.reason }, () => 'content'));
    case 'Subscription':
      return event.subscription.newTopicPreferences.unsubscribeAll ? toAll({ kind: 'unsubscribed' }) : [];
    default:
      return [];
  }
}

function bouncesOf({ bounceType, bounceSubType, bouncedRecipients }: SesEvent['bounce']): AddressedFact[] {
  return bouncedRecipients.filter(hasFailed).map(({ emailAddress, status, diagnosticCode }) => ({
    ...bounceOf({ words: diagnosticCode, enhancedCode: status }, (byWords) =>
      classOf(bounceType, bounceSubType, byWords),
    ),
    address: emailAddress,
  }));
}

/** A bounce may list recipients of whom the report says that theirs is late, or came through (RFC 3464 §2.3.3). */
function hasFailed({ action }: Recipient): boolean {
  return !['delayed', 'delivered', 'relayed', 'expanded'].includes(action.toLowerCase());
}

const BY_SUBTYPE = new Map<string, BounceClass>([
  ['Permanent NoEmail', 'hard'],
  ['Permanent Suppressed', 'hard'],
  ['Permanent OnAccountSuppressionList', 'hard'],
  ['Transient MailboxFull', 'mailbox'],
  ['Transient MessageTooLarge', 'content'],
  ['Transient ContentRejected', 'content'],
  ['Transient AttachmentRejected', 'content'],
]);

/**
 * The subtype says it where it says something. `General` says only that the refusal was for good or not, and for good are
 * blocks of the sender too: there the server's words tell more, as far as they go. What is transient is never a dead
 * address: out-of-office replies come as `Transient General` (notification-contents.html, “Bounce types”).
 */
function classOf(type: string, subtype: string, byWords: BounceClass): BounceClass {
  const bySubtype = BY_SUBTYPE.get(`${type} ${subtype}`);
  if (bySubtype !== undefined) return bySubtype;
  if (type === 'Permanent') return byWords === 'unknown' ? 'hard' : byWords;
  return type === 'Transient' && byWords === 'hard' ? 'unknown' : byWords;
}

/** Readers who say that it was no spam, and reports about failed authentication (RFC 6591), are no complaints. */
function complaintsOf({
  complaintFeedbackType,
  complainedRecipients,
}: SesEvent['complaint']): AddressedFact[] {
  if (['not-spam', 'auth-failure'].includes(complaintFeedbackType)) return [];
  return complainedRecipients.map(({ emailAddress }) => ({ kind: 'complaint', address: emailAddress }));
}

/**
 * The value of X-SES-MESSAGE-TAGS. Names and values of tags are of letters, digits, `_` and `-`, up to 256 of them
 * (docs.aws.amazon.com/ses/latest/APIReference/API_MessageTag.html), so the token is in base64url.
 */
export function messageTagOf(token: string): string {
  return `${TAG}=${Buffer.from(token).toString('base64url')}`;
}

/** Only events of a configuration set have tags (event-publishing-retrieving-sns-examples.html, the note). */
function tokenOf([value]: readonly string[]): string | null {
  return tokenField.parse(Buffer.from(value ?? '', 'base64url').toString('latin1'));
}
