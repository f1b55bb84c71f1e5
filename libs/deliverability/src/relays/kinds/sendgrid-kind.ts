import { createPublicKey, createVerify, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { BounceClass } from '../../bounces/bounce-class.js';
import {
  bounceOf,
  eventsOf,
  isRecent,
  listOf,
  readJson,
  shortField,
  textField,
  tokenField,
} from './event-fields.js';
import type {
  FeedbackFact,
  FeedbackProof,
  FeedbackRequest,
  MailForRelay,
  RelayEndpoint,
  RelayKindRules,
  RelayOptions,
} from './kind.js';

/** https://www.twilio.com/docs/sendgrid/for-developers/sending-email/integrating-with-the-smtp-api; `eu` is for EU subusers. */
const HOSTS = new Map([
  ['global', 'smtp.sendgrid.net'],
  ['eu', 'smtp.eu.sendgrid.net'],
]);

/**
 * Changes to a mail by the settings of SendGrid's account: counting opens and clicks, which we do, and writing into the body,
 * which our signature covers. https://www.twilio.com/docs/sendgrid/for-developers/sending-email/smtp-filters
 */
const SWITCHED_OFF = ['clicktrack', 'opentrack', 'subscriptiontrack', 'ganalytics', 'footer'] as const;
const FILTERS = Object.fromEntries(SWITCHED_OFF.map((filter) => [filter, { settings: { enable: 0 } }]));

/**
 * The unique argument that carries our token; it comes back beside SendGrid's own properties, none of which it may be named
 * as. https://www.twilio.com/docs/sendgrid/for-developers/sending-email/unique-arguments
 */
const TOKEN_ARGUMENT = 'mailwright';

/** No page names a number: more than the shortest events that it posts can be in 1 MB. */
const MAX_EVENTS = 5_000;
/**
 * SendGrid names no bound. It posts an event again for 24 hours, and does not say whether it signs it anew:
 * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook
 */
const MAX_AGE_MS = 25 * 60 * 60_000;

/** https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event */
const sendgridEvent = z.object({
  event: z.string(),
  email: shortField,
  // After the first dot come SendGrid's servers and the recipient: …/docs/sendgrid/glossary/message-id
  sg_message_id: textField.transform((id): string | null => id.replace(/\..*$/s, '')).pipe(shortField),
  [TOKEN_ARGUMENT]: tokenField,
  /** The receiving server's words. */
  reason: textField,
  /** An enhanced code, or only a basic one. */
  status: textField,
  type: textField,
  bounce_classification: textField,
});

type SendgridEvent = z.output<typeof sendgridEvent>;

const sendgridEvents = listOf(sendgridEvent, MAX_EVENTS);

/** Twilio SendGrid by SMTP: its password is an API key. */
export const sendgridKind: RelayKindRules = {
  name: 'Twilio SendGrid',
  options: { region: { pattern: /^(?:global|eu)$/, inWords: 'global or eu' } },
  // …/for-developers/sending-email/integrating-with-the-smtp-api: the username of all who send.
  username: 'apikey',
  endpoint,
  // Message-ID stays as it is: https://github.com/anymail/django-anymail/issues/108
  replacedHeaders: [],
  headersOf: (mail) => [['X-SMTPAPI', instructionsFor(mail)]],
  /**
   * `250 Ok: queued as Yo60h6C5ScGPeP5fUWU3K`, which `sg_message_id` begins with, up to a dot:
   * https://www.twilio.com/docs/sendgrid/for-developers/sending-email/getting-started-smtp and …/glossary/message-id
   */
  messageIdOf: (replyText) => /\bqueued as ([\w-]{1,255})/i.exec(replyText)?.[1] ?? null,
  idIsUnique: true,
  // "The MAIL FROM address is re-written when we send the email": neither SPF nor MX of a return path of ours is asked for.
  // https://www.twilio.com/docs/sendgrid/for-developers/sending-email/building-an-x-smtpapi-header
  dnsRecords: ['OWNERSHIP', 'DKIM', 'DMARC'],
  feedbackKey: {
    isUsable: (key) => publicKeyOf(key) !== null,
    inWords: 'the verification key that SendGrid shows: a public key of the curve P-256, in base64',
  },
  feedback: {
    isGenuine: isSigned,
    read: ({ body }) => ({
      events: readJson(body, sendgridEvents).flatMap((event) => {
        const { [TOKEN_ARGUMENT]: token, sg_message_id: providerMessageId, email: address } = event;
        return eventsOf(factOf(event), { token, providerMessageId, address });
      }),
    }),
  },
};

/** None for a region that we do not know: mail that is to stay in one must not leave by another. */
function endpoint({ region = 'global' }: RelayOptions): RelayEndpoint | null {
  const host = HOSTS.get(region);
  return host === undefined ? null : { host, port: 587, tls: 'REQUIRED' };
}

/**
 * Well below the 1 000 characters that the header may have; nothing of it needs escaping.
 * https://www.twilio.com/docs/sendgrid/for-developers/sending-email/building-an-x-smtpapi-header
 */
function instructionsFor({ token }: MailForRelay): string {
  return JSON.stringify({ unique_args: { [TOKEN_ARGUMENT]: token }, filters: FILTERS });
}

/**
 * The Signed Event Webhook signs the timestamp and the body; `key` is its verification key, SPKI in base64.
 * …/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
 */
function isSigned({ headers, body, receivedAt }: FeedbackRequest, { key }: FeedbackProof): boolean {
  const timestamp = headers['x-twilio-email-event-webhook-timestamp'] ?? '';
  const signature = headers['x-twilio-email-event-webhook-signature'] ?? '';
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  const publicKey = publicKeyOf(key ?? '');
  if (publicKey === null || !isRecent(Number(timestamp), receivedAt, MAX_AGE_MS)) return false;
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

/** SendGrid retries deferred mail itself; opens and clicks are ours to count. */
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
 * Reasons for which SendGrid does not even try: https://www.twilio.com/docs/sendgrid/glossary/drops. Its lists of
 * addresses say the same of an address as the event that put it there; faults of our header or the account concern every mail.
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

/**
 * The server's words come first, which the same table reads whichever relay carried the mail: SendGrid's seven classes know
 * none for a sender that is set up wrong. Where the words tell nothing, its classification does, then the `type`. A block
 * says nothing of the address ("would not accept the message temporarily"), whatever the words are: it is never hard.
 */
function factOfBounce({ reason, status, type, bounce_classification }: SendgridEvent): FeedbackFact {
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
function factOfDrop(reason: string): FeedbackFact {
  const meaning = DROPS.get(reason) ?? 'unknown';
  if (meaning === 'complaint' || meaning === 'unsubscribed') return { kind: meaning };
  return bounceOf({ words: reason }, () => meaning);
}
