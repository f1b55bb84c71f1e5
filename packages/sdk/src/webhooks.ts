import type { webhooks } from './api-types.js';

/** Type of an event, as endpoints are told it. An API that is newer than this package may tell others: ignore those. */
export type WebhookEventType = keyof webhooks;

/**
 * Event of a webhook, of any type or of the one that is named; `switch (event.type)` tells the compiler what `event.data` is. Of a
 * person who was erased before the post `data` has nothing but `subscriberId` or `messageId`.
 */
export type WebhookEvent<Type extends WebhookEventType = WebhookEventType> = {
  [Each in Type]: webhooks[Each]['post']['requestBody']['content']['application/json'];
}[Type];

export interface WebhookToVerify {
  /** `whsec_…`; several while a secret is changed over. */
  readonly secret: string | readonly string[];
  readonly headers: Headers | Readonly<Record<string, string | string[] | undefined>>;
  /** Exactly as it came: parsed and written again it is another text. */
  readonly body: string;
  /** Seconds that its time may differ from now. Default: 300. */
  readonly toleranceSeconds?: number | undefined;
}

const RIGHT_SECRET = 'It has to be the secret of the webhook endpoint, whsec_….';

/** Somebody else may have posted it: do nothing with it. */
export class WebhookVerificationError extends Error {
  override readonly name: string = 'WebhookVerificationError';
}

/**
 * The event of a webhook (Standard Webhooks 1.0). Throws `WebhookVerificationError`, and a `TypeError` when `secret` is none or cannot be
 * one.
 */
export async function verifyWebhook({
  secret,
  headers,
  body,
  toleranceSeconds = 300,
}: WebhookToVerify): Promise<WebhookEvent> {
  const secrets = [secret].flat().map(keyOf);
  if (secrets.length === 0) throw new TypeError(`secret is empty. ${RIGHT_SECRET}`);
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature').split(' ');
  if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > toleranceSeconds || !/^\d+$/.test(timestamp))
    throw new WebhookVerificationError('The time of the webhook is too far away.');
  for (const one of secrets) {
    if (await isSigned(one, `${id}.${timestamp}.${body}`, signatures))
      return JSON.parse(body) as WebhookEvent;
  }
  throw new WebhookVerificationError('No signature of the webhook is right.');
}

function headerOf(headers: WebhookToVerify['headers'], name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([written]) => written.toLowerCase() === name)?.[1];
  if (typeof value !== 'string') throw new WebhookVerificationError(`The header ${name} is missing.`);
  return value;
}

/** A variable that is not set is empty, and would make every webhook look forged. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  if (typeof secret !== 'string' || secret === '') throw new TypeError(`secret is empty. ${RIGHT_SECRET}`);
  const bytes = base64(secret.replace(/^whsec_/, ''));
  if (bytes.length === 0) throw new TypeError(`secret is no base64. ${RIGHT_SECRET}`);
  return bytes;
}

async function isSigned(
  bytes: Uint8Array<ArrayBuffer>,
  content: string,
  signatures: readonly string[],
): Promise<boolean> {
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'verify',
  ]);
  for (const signature of signatures) {
    const [version, value = ''] = signature.split(',');
    if (version !== 'v1') continue;
    // In constant time, as WebCrypto compares.
    if (await crypto.subtle.verify('HMAC', key, base64(value), new TextEncoder().encode(content)))
      return true;
  }
  return false;
}

function base64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
