import { randomBytes } from 'node:crypto';
import { webhookHeaders } from '../../../libs/platform/src/outgoing-http.js';
import {
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

export const GENERIC_KEY = `whsec_${Buffer.from('a secret of the tests').toString('base64')}`;

/** A relay of one's own, which replies, and turns away who sends more than `smtpd_client_message_rate_limit`, as Postfix does. */
export function startOwnRelay(): Promise<ProviderSink> {
  return ProviderSink.start({
    newId: (count) => `4dF3vN${count.toString(16).padStart(8, '0')}`,
    replyTo: (id) => `250 2.0.0 Ok: queued as ${id}`,
    throttled: '450 4.7.1 Error: too much mail from 127.0.0.1',
    throttledAt: 'mail',
  });
}

/** An event as GENERIC documents it, from a program that reads the relay's log: of a mail that is put off it says nothing. */
export function genericEvent({ id, to }: TakenMail, event: ProviderEvent): object {
  return {
    type: event.kind,
    messageId: id,
    address: to,
    at: SIGNED_AT.toISOString(),
    ...(event.kind === 'bounce' ? wordsOf(event.said) : {}),
  };
}

function wordsOf(said: string): object {
  const { code, enhancedCode } = partsOf(said);
  return { smtpCode: code, enhancedCode, detail: said };
}

/** Signed as our own webhooks are. */
export function genericPost(
  events: object,
  { key = GENERIC_KEY, signedAt: at = SIGNED_AT }: PostOptions = {},
): PostedFeedback {
  const body = JSON.stringify({ events: Array.isArray(events) ? events : [events] });
  const id = `msg_${randomBytes(12).toString('base64url')}`;
  return {
    headers: { 'content-type': 'application/json', ...webhookHeaders([key], { id, at, body }) },
    body: Buffer.from(body),
    receivedAt: RECEIVED_AT,
  };
}

export const generic: ProviderStandIn = {
  start: startOwnRelay,
  namesIdInReply: true,
  proof: proofBy(GENERIC_KEY),
  needsKey: true,
  otherKey: `whsec_${Buffer.from('another').toString('base64')}`,
  proves: 'EVENTS',
  maxAgeMs: 5 * 60_000,
  eventOf: genericEvent,
  post: genericPost,
  passedOn: passedOnUnchanged,
};
