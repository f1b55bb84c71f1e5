import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { messageIdOf } from '../mail/sink-rules.js';
import {
  fieldsOf,
  partsOf,
  passedOnUnchanged,
  type PostedFeedback,
  type PostOptions,
  proofBy,
  type ProviderEvent,
  ProviderSink,
  type ProviderStandIn,
  RECEIVED_AT,
  SIGNED_AT,
  type TakenMail,
} from './provider-sink.js';

const NAMES = {
  delivered: 'delivered',
  deferred: 'deferred',
  complaint: 'spamreport',
  unsubscribed: 'unsubscribe',
} as const;

/** Private keys by what the owner of the account copies from its settings: the verification key. */
const signingKeys = new Map<string, KeyObject>();

export function sendgridKey(): string {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const key = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
  signingKeys.set(key, privateKey);
  return key;
}

export const SENDGRID_KEY = sendgridKey();

/** …/docs/sendgrid/for-developers/sending-email/smtp-errors-and-troubleshooting; at which command is not said there. */
export function startSendgrid(): Promise<ProviderSink> {
  return ProviderSink.start({
    newId: (count) => `Yo60h6C5ScGPeP5f${count.toString(16).padStart(6, '0')}`,
    replyTo: (id) => `250 Ok: queued as ${id}`,
    throttled: '451 Authentication failed: Maximum credits exceeded',
    throttledAt: 'mail',
  });
}

/** …/for-developers/tracking-events/event: our unique arguments stand beside SendGrid's own properties. */
export function sendgridEvent({ id, to, raw }: TakenMail, event: ProviderEvent): object {
  return {
    ...uniqueArgumentsOf(raw),
    email: to,
    timestamp: Math.floor(SIGNED_AT.getTime() / 1_000),
    'smtp-id': messageIdOf(raw),
    sg_event_id: 'Zm9yIG9uZSBldmVudA',
    sg_message_id: `${id}.recvd-7b9c6d5f8-x2kqz-1-6922A1C4-1B.0`,
    ...(event.kind === 'bounce' ? bounceOf(event.said) : { event: NAMES[event.kind] }),
  };
}

/** A block is what the server may take another time. */
function bounceOf(said: string): object {
  const { enhancedCode } = partsOf(said);
  const isOfAddress = enhancedCode.startsWith('5.1.');
  return {
    event: 'bounce',
    type: isOfAddress ? 'bounce' : 'blocked',
    bounce_classification: isOfAddress ? 'Invalid Address' : 'Unclassified',
    reason: said,
    status: enhancedCode,
    tls: 1,
  };
}

/** Unique arguments in the first X-SMTPAPI header; rejects what is no JSON, as SendGrid does. */
function uniqueArgumentsOf(raw: Buffer): object {
  const [value = '{}'] = fieldsOf(raw, 'X-SMTPAPI');
  const { unique_args = {} } = JSON.parse(value) as { unique_args?: Record<string, string> };
  return unique_args;
}

/** …/tracking-events/getting-started-event-webhook-security-features: over the timestamp and the body. */
export function sendgridPost(
  events: object,
  { key = SENDGRID_KEY, signedAt = SIGNED_AT }: PostOptions = {},
): PostedFeedback {
  const privateKey = signingKeys.get(key);
  if (privateKey === undefined) throw new Error('Only keys of sendgridKey sign.');
  const timestamp = String(Math.floor(signedAt.getTime() / 1_000));
  const body = Buffer.from(`${JSON.stringify(Array.isArray(events) ? events : [events])}\r\n`);
  return {
    headers: {
      'content-type': 'application/json',
      'x-twilio-email-event-webhook-timestamp': timestamp,
      'x-twilio-email-event-webhook-signature': createSign('sha256')
        .update(timestamp)
        .update(body)
        .sign(privateKey, 'base64'),
    },
    body,
    receivedAt: RECEIVED_AT,
  };
}

export const sendgrid: ProviderStandIn = {
  start: startSendgrid,
  namesIdInReply: true,
  proof: proofBy(SENDGRID_KEY),
  needsKey: true,
  otherKey: sendgridKey(),
  proves: 'EVENTS',
  maxAgeMs: 25 * 3_600_000,
  eventOf: sendgridEvent,
  post: sendgridPost,
  passedOn: passedOnUnchanged,
};
