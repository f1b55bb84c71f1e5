import { sign } from 'node:crypto';
import {
  dateField,
  fieldsOf,
  partsOf,
  type PostedFeedback,
  type ProviderEvent,
  ProviderSink,
  type ProviderStandIn,
  RECEIVED_AT,
  type TakenMail,
  withFields,
} from './provider-sink.js';
import { snsCertificate } from './sns-certificate.js';

/** Pages are those of docs.aws.amazon.com/ses/latest/dg and docs.aws.amazon.com/sns/latest/dg. */
const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:ses-events';
const SNS = 'https://sns.eu-west-1.amazonaws.com';
const CERT_URL = `${SNS}/SimpleNotificationService-60eadc530605d63b8e62a523676ef735.pem`;
/** Proof as a relay has it: the topic pinned, and the certificate where SNS says it is. */
export const sesProof = {
  key: TOPIC,
  fetchText: (url: string) =>
    url === CERT_URL
      ? Promise.resolve(snsCertificate.cert)
      : Promise.reject(new Error(`Nothing is at ${url}.`)),
};

/** troubleshoot-smtp.html: “250 Ok MessageID”, and its words for too many mails a second. */
export function startSes(): Promise<ProviderSink> {
  return ProviderSink.start({
    newId: (count) =>
      `0102018b8f3a5c1e-7a5433e7-8edb-42ae-af10-${count.toString(16).padStart(12, '0')}-000000`,
    replyTo: (id) => `250 Ok ${id}`,
    throttled: '454 Throttling failure: Maximum sending rate exceeded.',
  });
}

/** The mail as recipients get it: Date, Message-ID and Return-Path are SES's own, its fields are gone (header-fields.html). */
export function passedOnBySes({ id, raw }: TakenMail, at: Date): Buffer {
  return withFields(
    raw,
    (name) => name.startsWith('x-ses-') || ['date', 'message-id', 'return-path', 'bounces-to'].includes(name),
    [`Message-ID: <${id}@eu-west-1.amazonses.com>`, `Date: ${dateField(at)}`],
  );
}

/** Event as SES publishes it: with `eventType` and tags for a configuration set, `notificationType` and no tags for an identity. */
export function sesEvent(
  mail: TakenMail,
  event: ProviderEvent,
  form: 'eventType' | 'notificationType' = 'eventType',
): object {
  const [type, details] = typeOf(mail, event);
  const tags = Object.fromEntries(
    fieldsOf(mail.raw, 'X-SES-MESSAGE-TAGS')
      .flatMap((field) => field.split(/, ?/))
      .map((tag) => tag.split('='))
      .map(([name = '', value = '']) => [name, [value]]),
  );
  return {
    [form]: type,
    mail: {
      timestamp: '2026-11-23T04:40:00.000Z',
      source: 'b+claims.mac@bounces.shop.example',
      sourceArn: 'arn:aws:ses:eu-west-1:123456789012:identity/shop.example',
      sendingAccountId: '123456789012',
      messageId: mail.id,
      destination: [mail.to],
      headersTruncated: false,
      ...(form === 'eventType' ? { tags: { 'ses:configuration-set': ['news'], ...tags } } : {}),
    },
    ...details,
  };
}

function typeOf({ id, to }: TakenMail, event: ProviderEvent): [type: string, details: object] {
  const about = { timestamp: '2026-11-23T04:41:00.000Z', feedbackId: `feedback-${id}` };
  switch (event.kind) {
    case 'delivered':
      return [
        'Delivery',
        { delivery: { recipients: [to], smtpResponse: '250 2.0.0 OK', processingTimeMillis: 546 } },
      ];
    case 'complaint':
      return [
        'Complaint',
        {
          complaint: {
            ...about,
            complainedRecipients: [{ emailAddress: to }],
            complaintFeedbackType: 'abuse',
          },
        },
      ];
    case 'unsubscribed':
      return [
        'Subscription',
        {
          subscription: {
            contactList: 'readers',
            newTopicPreferences: { unsubscribeAll: true, topicSubscriptionStatus: [] },
          },
        },
      ];
    case 'deferred':
      return [
        'DeliveryDelay',
        { deliveryDelay: { delayType: 'General', delayedRecipients: [{ emailAddress: to }] } },
      ];
    case 'bounce':
      return ['Bounce', { bounce: { ...about, ...bounceOf(to, event.said) } }];
  }
}

function bounceOf(to: string, said: string): object {
  const { code, enhancedCode } = partsOf(said);
  return {
    bounceType: code < 500 ? 'Transient' : 'Permanent',
    bounceSubType: 'General',
    bouncedRecipients: [
      { emailAddress: to, action: 'failed', status: enhancedCode, diagnosticCode: `smtp; ${said}` },
    ],
    reportingMTA: 'dns; a4-7.smtp-out.eu-west-1.amazonses.com',
  };
}

export interface SnsOptions {
  readonly type?: 'Notification' | 'SubscriptionConfirmation' | 'UnsubscribeConfirmation';
  readonly version?: '1' | '2';
  /** Instead of, or besides, what SNS says, and signed with it. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** The message in SNS's envelope, signed (sns-verify-signature-of-message.html, sns-message-and-json-formats.html). */
export function snsPost(message: object | string, options: SnsOptions = {}): PostedFeedback {
  const { type = 'Notification', version = '1', fields = {} } = options;
  const confirmation: Record<string, string> = {
    Token: '2336412f37fb687f5d51e6e2425',
    SubscribeURL: `${SNS}/?Action=ConfirmSubscription&TopicArn=${TOPIC}&Token=2336412f37fb687f5d51e6e2425`,
  };
  const signed: Record<string, string> = {
    Message: typeof message === 'string' ? message : JSON.stringify(message),
    MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
    Timestamp: '2026-11-23T04:41:00.655Z',
    TopicArn: TOPIC,
    Type: type,
    ...(type === 'Notification' ? {} : confirmation),
    ...fields,
  };
  // In byte-sort order; the URL of the certificate is not signed.
  const text = Object.keys(signed)
    .filter((name) => name !== 'SigningCertURL')
    .sort()
    .map((name) => `${name}\n${signed[name]}\n`);
  const signature = sign(version === '1' ? 'sha1' : 'sha256', Buffer.from(text.join('')), snsCertificate.key);
  const body = {
    SigningCertURL: CERT_URL,
    ...signed,
    SignatureVersion: version,
    Signature: signature.toString('base64'),
    UnsubscribeURL: `${SNS}/?Action=Unsubscribe&SubscriptionArn=${TOPIC}:c9135db0-26c4-47ec-8998-413945fb5a96`,
  };
  return {
    // SNS says that its JSON is text.
    headers: { 'content-type': 'text/plain; charset=UTF-8', 'x-amz-sns-message-type': type },
    body: Buffer.from(JSON.stringify(body)),
    receivedAt: RECEIVED_AT,
  };
}

/** Stand-in of SES. Another key is another topic's owner: SNS signs for all. */
export const ses: ProviderStandIn = {
  start: startSes,
  namesIdInReply: true,
  proof: sesProof,
  needsKey: false,
  otherKey: 'arn:aws:sns:eu-west-1:210987654321:theirs',
  proves: 'EVENTS',
  maxAgeMs: null,
  eventOf: sesEvent,
  post: (event, { key = TOPIC } = {}) => snsPost(event, { fields: { TopicArn: key } }),
  passedOn: passedOnBySes,
};
