import { createHmac, randomBytes } from 'node:crypto';
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
  uuidOf,
} from './provider-sink.js';

/** Pages are those of documentation.mailgun.com/docs/mailgun. */
export const MAILGUN_KEY = 'a signing key of the tests';

/** Its reply names no id, and its events the Message-ID of the mail. */
export function startMailgun(): Promise<ProviderSink> {
  return ProviderSink.start({
    newId: uuidOf,
    replyTo: () => '250 Great success',
    throttled: '421 Too many messages',
  });
}

/** user-manual/events/event-structure, without what nobody reads; times are seconds with fractions. */
export function mailgunEvent(mail: TakenMail, event: ProviderEvent): object {
  return {
    ...eventOf(event),
    id: mail.id,
    timestamp: 1795495260.049634,
    'log-level': event.kind === 'bounce' ? 'error' : 'info',
    recipient: mail.to,
    'recipient-domain': mail.to.replace(/^.*@/, ''),
    campaigns: [],
    tags: [],
    // “Multiple headers may be provided and their map values will be combined.”
    'user-variables': Object.assign(
      {},
      ...fieldsOf(mail.raw, 'X-Mailgun-Variables').map((map) => JSON.parse(map) as object),
    ),
    flags: { 'is-routed': false, 'is-authenticated': true, 'is-system-test': false, 'is-test-mode': false },
    message: {
      // Without its angle brackets.
      headers: {
        to: mail.to,
        'message-id': messageIdOf(mail.raw)?.slice(1, -1),
        from: 'news@shop.example',
        subject: 'News',
      },
      attachments: [],
      size: mail.raw.length,
    },
  };
}

function eventOf(event: ProviderEvent): object {
  switch (event.kind) {
    case 'delivered':
      return {
        event: 'delivered',
        'delivery-status': { code: 250, message: 'OK', description: '', 'attempt-no': 1 },
      };
    case 'complaint':
      return { event: 'complained' };
    case 'unsubscribed':
      return { event: 'unsubscribed', 'client-info': { 'client-name': 'Chrome' } };
    case 'deferred':
      return {
        event: 'failed',
        severity: 'temporary',
        reason: 'generic',
        ...statusOf('451 4.7.652 Too many connections'),
      };
    case 'bounce':
      return { event: 'failed', severity: 'permanent', reason: 'bounce', ...statusOf(event.said) };
  }
}

/** The basic code is a field of its own, the words begin with the enhanced one. */
function statusOf(said: string): object {
  const { code, enhancedCode, words } = partsOf(said);
  return {
    'delivery-status': {
      code,
      'enhanced-code': enhancedCode,
      message: `${enhancedCode} ${words}`,
      description: '',
      'attempt-no': 1,
      'mx-host': 'mx.example',
    },
  };
}

/** user-manual/webhooks/securing-webhooks: the HMAC of timestamp and token. */
export function mailgunPost(
  event: object,
  { key = MAILGUN_KEY, signedAt = SIGNED_AT }: PostOptions = {},
): PostedFeedback {
  const timestamp = String(Math.floor(signedAt.getTime() / 1_000));
  const token = randomBytes(25).toString('hex');
  const signature = createHmac('sha256', key)
    .update(timestamp + token)
    .digest('hex');
  return {
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ signature: { timestamp, token, signature }, 'event-data': event })),
    receivedAt: RECEIVED_AT,
  };
}

export const mailgun: ProviderStandIn = {
  start: startMailgun,
  namesIdInReply: false,
  proof: proofBy(MAILGUN_KEY),
  needsKey: true,
  otherKey: 'another key',
  proves: 'REQUEST',
  maxAgeMs: 9 * 3_600_000,
  eventOf: mailgunEvent,
  post: mailgunPost,
  passedOn: passedOnUnchanged,
};
