import { verify, X509Certificate } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { BounceClass } from '../../bounces/bounce-class.js';
import {
  bounceOf,
  jsonOf,
  listField,
  readJson,
  shortField,
  shortText,
  textField,
  tokenField,
} from './event-fields.js';
import type { FeedbackEvent, FeedbackFact, FeedbackProof, FeedbackRequest, RelayKindRules } from './kind.js';

/** `eu-west-1`, `us-gov-west-1`: it becomes part of a host name. */
const REGION = { pattern: /^[a-z]{2}(?:-[a-z]{2,12}){1,3}-\d$/, inWords: 'an AWS region, as eu-west-1' };
/** docs.aws.amazon.com/ses/latest/APIReference/API_ConfigurationSet.html */
const CONFIGURATION_SET = {
  pattern: /^[\w-]{1,64}$/,
  inWords: 'the name of a configuration set: letters, digits, _ and -, at most 64',
};
/** docs.aws.amazon.com/sns/latest/api/API_CreateTopic.html; other partitions are `aws-cn`, `aws-us-gov`. */
const TOPIC_ARN = /^arn:aws(?:-[a-z]{2,10}){0,3}:sns:[a-z0-9-]{3,30}:\d{12}:[\w-]{1,256}$/;
/** `Ok 0100018b…-000000`: docs.aws.amazon.com/ses/latest/dg/troubleshoot-smtp.html, “250 Ok MessageID”. */
const MESSAGE_ID = /^Ok ([\w-]{1,255})\s*$/i;

/** docs.aws.amazon.com/sns/latest/dg/http-notification-json.html, and http-subscription-confirmation-json.html beside it. */
const snsMessage = z.object({
  Type: z.enum(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: z.string(),
  TopicArn: z.string(),
  Subject: z.string().nullish(),
  Message: z.string(),
  Timestamp: z.string(),
  Token: z.string().optional(),
  SubscribeURL: z.string().optional(),
  SignatureVersion: z.enum(['1', '2']),
  Signature: z.string(),
  SigningCertURL: z.string(),
});

type SnsMessage = z.output<typeof snsMessage>;

/** sns-verify-signature-of-message-verify-message-signature.html: names and values in this order; Subject where there is one. */
const SIGNED_OF_NOTIFICATION = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'] as const;
const SIGNED_OF_CONFIRMATION = [
  'Message',
  'MessageId',
  'SubscribeURL',
  'Timestamp',
  'Token',
  'TopicArn',
  'Type',
] as const;
/** sns-verify-signature-of-message.html: version 1 is SHA1withRSA, 2 is SHA256withRSA. */
const HASHES = { 1: 'sha1', 2: 'sha256' } as const;
/** The hosts of SNS itself; `.cn` in AWS's regions in China. */
const SNS_HOST = /^sns\.[a-z0-9-]{3,30}\.amazonaws\.com(?:\.cn)?$/;

/** Keyed by PEM. A region has one certificate for months; a relay has one region. */
const certificates = new LRUCache<string, X509Certificate>({ max: 32 });

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

/** Pages are those of docs.aws.amazon.com/ses/latest/dg, unless another place is named. */
export const sesKind: RelayKindRules = {
  name: 'Amazon SES',
  options: { configurationSet: CONFIGURATION_SET, region: REGION },
  endpointOption: 'region',
  // smtp-connect.html: all connections are encrypted; 587 by STARTTLS. There is one endpoint a region and none that is usual
  // (docs.aws.amazon.com/general/latest/gr/ses.html).
  endpoint: ({ region }) =>
    region !== undefined && REGION.pattern.test(region)
      ? { host: `email-smtp.${region}.amazonaws.com`, port: 587, tls: 'REQUIRED' }
      : null,
  // Not to be signed (send-email-authentication-dkim-manual.html); Date and Message-ID are overridden (header-fields.html).
  replacedHeaders: ['date', 'message-id', 'return-path', 'bounces-to'],
  // event-publishing-send-email.html: SES takes both out of the mail. An identity's default configuration set sees the tag too.
  headersOf: ({ token, options: { configurationSet } }) => [
    ...(configurationSet === undefined ? [] : [['X-SES-CONFIGURATION-SET', configurationSet] as const]),
    ['X-SES-MESSAGE-TAGS', messageTagOf(token)],
  ],
  messageIdOf: (replyText) => MESSAGE_ID.exec(replyText)?.[1] ?? null,
  idIsUnique: true,
  // mail-from.html: SPF is about the MAIL FROM domain, a subdomain of amazonses.com or one that SES names; bounces go there.
  dnsRecords: ['OWNERSHIP', 'DKIM', 'DMARC'],
  feedbackKey: {
    isUsable: (key) => TOPIC_ARN.test(key),
    inWords: 'the ARN of a standard SNS topic, as arn:aws:sns:eu-west-1:123456789012:mailwright',
  },
  feedback: {
    isGenuine: isFromSns,
    read: ({ body }) => {
      const message = readJson(body, snsMessage);
      const confirmUrl = confirmUrlOf(message);
      if (confirmUrl !== null) return { events: [], confirmUrl };
      return { events: message.Type === 'Notification' ? readSesEvent(message.Message) : [] };
    },
  },
};

/** URL that confirms a subscription; null in other messages: the end of one is not to be undone. */
function confirmUrlOf({ Type, SubscribeURL }: SnsMessage): string | null {
  return Type === 'SubscriptionConfirmation' && isOfSns(SubscribeURL) ? SubscribeURL : null;
}

/**
 * True if SNS signed the message. Anyone can have SNS sign messages of a topic of their own: sns-verify-signature-of-message.html
 * wants unexpected topics refused. So a relay that has pinned its topic has the TopicArn as its `proof.key`; without one the
 * secret in our address alone tells. A message resent is the same message: SNS names no bound of age.
 */
async function isFromSns({ body, receivedAt }: FeedbackRequest, proof: FeedbackProof): Promise<boolean> {
  const message = jsonOf(body.toString(), snsMessage);
  if (message === null || (proof.key !== null && proof.key !== message.TopicArn)) return false;
  const { SigningCertURL, SubscribeURL } = message;
  if (!isOfSns(SigningCertURL) || !new URL(SigningCertURL).pathname.endsWith('.pem')) return false;
  if (message.Type !== 'Notification' && !isOfSns(SubscribeURL)) return false;
  const certificate = certificateOf(await proof.fetchText(SigningCertURL));
  return certificate !== null && isValidAt(certificate, receivedAt) && isSignedBy(certificate, message);
}

function isOfSns(address: string | undefined): address is string {
  const url = address === undefined ? null : URL.parse(address);
  if (url === null || url.protocol !== 'https:' || url.port !== '') return false;
  return url.username === '' && url.password === '' && SNS_HOST.test(url.hostname);
}

function certificateOf(pem: string): X509Certificate | null {
  const kept = certificates.get(pem);
  if (kept !== undefined) return kept;
  try {
    const certificate = new X509Certificate(pem);
    if (certificate.publicKey.asymmetricKeyType !== 'rsa') return null;
    certificates.set(pem, certificate);
    return certificate;
  } catch {
    return null;
  }
}

function isValidAt({ validFromDate, validToDate }: X509Certificate, moment: Date): boolean {
  return validFromDate <= moment && moment <= validToDate;
}

function isSignedBy({ publicKey }: X509Certificate, message: SnsMessage): boolean {
  const names = message.Type === 'Notification' ? SIGNED_OF_NOTIFICATION : SIGNED_OF_CONFIRMATION;
  const fields: Partial<Record<string, string | null>> = message;
  const signed = names.flatMap((name) => (fields[name] == null ? [] : [`${name}\n${fields[name]}\n`]));
  const signature = Buffer.from(message.Signature, 'base64');
  return verify(HASHES[message.SignatureVersion], Buffer.from(signed.join('')), publicKey, signature);
}

/**
 * The events of a notification's `Message`: one a recipient. None in what SES says when a topic is set up, which is a
 * sentence (“Successfully validated SNS topic for Amazon SES event publishing.”) or of another type.
 */
function readSesEvent(message: string): FeedbackEvent[] {
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
function messageTagOf(token: string): string {
  return `${TAG}=${Buffer.from(token).toString('base64url')}`;
}

/** Only events of a configuration set have tags (event-publishing-retrieving-sns-examples.html, the note). */
function tokenOf([value]: readonly string[]): string | null {
  return tokenField.parse(Buffer.from(value ?? '', 'base64url').toString('latin1'));
}
