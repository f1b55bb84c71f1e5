import {
  fieldsOf,
  passedOnUnchanged,
  type PostedFeedback,
  proofBy,
  type ProviderEvent,
  ProviderSink,
  type ProviderStandIn,
  RECEIVED_AT,
  SIGNED_AT,
  type TakenMail,
} from './provider-sink.js';

/** Proof that the owner of the account has set for the webhook: a token, or `user:password`. */
export const BREVO_KEY = 'brevo:3f9c1d';

const NAMES = {
  delivered: 'delivered',
  deferred: 'deferred',
  complaint: 'spam',
  unsubscribed: 'unsubscribed',
} as const;

/** Brevo does not document what it says over a limit; this is what RFC 5321 §3.8 has for it. */
export function startBrevo(): Promise<ProviderSink> {
  return ProviderSink.start({
    newId: (count) => `202611230500.${10_000_000_000 + count}@smtp-relay.mailin.fr`,
    replyTo: (id) => `250 2.0.0 OK: queued as <${id}>`,
    throttled: '421 4.7.0 Service not available',
    throttledAt: 'mail',
  });
}

/** https://developers.brevo.com/docs/transactional-webhooks */
export function brevoEvent({ id, to, raw }: TakenMail, event: ProviderEvent): object {
  const seconds = Math.floor(SIGNED_AT.getTime() / 1_000);
  const [custom] = fieldsOf(raw, 'X-Mailin-custom');
  return {
    id: 26_224,
    email: to,
    'message-id': `<${id}>`,
    date: '2026-11-23 06:00:00',
    subject: 'Hello',
    ...(event.kind === 'bounce'
      ? { event: event.said.startsWith('5') ? 'hard_bounce' : 'soft_bounce', reason: event.said }
      : { event: NAMES[event.kind] }),
    ts: seconds,
    ts_event: seconds,
    ts_epoch: SIGNED_AT.getTime(),
    sending_ip: '192.0.2.1',
    ...(custom === undefined ? {} : { 'X-Mailin-custom': custom }),
  };
}

/** One event, or a batch. It is not signed: https://developers.brevo.com/docs/secured-webhooks */
export function brevoPost(events: object, { key = BREVO_KEY }: { key?: string } = {}): PostedFeedback {
  const authorization = key.includes(':') ? `Basic ${Buffer.from(key).toString('base64')}` : `Bearer ${key}`;
  return {
    headers: { 'content-type': 'application/json', authorization },
    body: Buffer.from(JSON.stringify(events)),
    receivedAt: RECEIVED_AT,
  };
}

export const brevo: ProviderStandIn = {
  start: startBrevo,
  namesIdInReply: true,
  proof: proofBy(BREVO_KEY),
  needsKey: true,
  otherKey: 'brevo:another',
  proves: 'SENDER',
  maxAgeMs: null,
  eventOf: brevoEvent,
  post: brevoPost,
  passedOn: passedOnUnchanged,
};
