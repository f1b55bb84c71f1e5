import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { bounceOf, listOf, readJson, shortField, textField, tokenField } from '../event-fields.js';
import type {
  FeedbackEvent,
  FeedbackFact,
  FeedbackFormat,
  FeedbackProof,
  FeedbackRequest,
} from '../feedback.js';
import type { FeedbackKeyForm } from '../kind.js';
import { sameSecret } from '../same-secret.js';

/** Who has more posts them in several requests. */
const MAX_EVENTS = 500;
/** Of secrets that are in use at once. */
const MAX_SIGNATURES = 10;
/** As the libraries of Standard Webhooks take it. */
const TOLERANCE_MS = 5 * 60_000;

/**
 * One event. Each property but `type` may be left out; one that is no such value counts as left out. Who reports may add
 * others of its own, `at` say, the time of it. `messageId` is the id that the relay gave the mail in its reply.
 */
const genericEvent = z.object({
  type: z.enum(['bounce', 'complaint', 'delivered', 'unsubscribed']),
  token: tokenField,
  messageId: shortField,
  address: shortField,
  smtpCode: z.int().catch(0),
  enhancedCode: shortField,
  detail: textField,
  permanent: z.boolean().catch(false),
});

type GenericEvent = z.output<typeof genericEvent>;

const genericEvents = z.object({ events: listOf(genericEvent, MAX_EVENTS) });
const IN_WORDS = `an object with "events": at most ${MAX_EVENTS} of them`;

export const genericKey: FeedbackKeyForm = {
  isUsable: (key) => secretOf(key) !== null,
  inWords: 'whsec_ and a secret in base64',
};

/**
 * Events of any other relay, as the program that reads its log posts them: `{ "events": [{ "type": "bounce", … }] }`, signed
 * as our own webhooks are (https://www.standardwebhooks.com), so that one library does both. `proof.key` is `whsec_` and the
 * secret in base64.
 */
export const genericFeedback: FeedbackFormat = {
  isGenuine: (request, proof) => Promise.resolve(isSigned(request, proof)),
  read: ({ body }) => ({ events: readJson(body, genericEvents, IN_WORDS).events.map(eventOf) }),
};

/**
 * Over the octets of the body as they came, which the library itself would first make a text. Several signatures, parted by
 * spaces, are for a secret that is being changed over.
 */
function isSigned({ headers, body, receivedAt }: FeedbackRequest, { key }: FeedbackProof): boolean {
  const [id = '', timestamp = '', signatures = ''] = ['id', 'timestamp', 'signature'].map(
    (name) => headers[`webhook-${name}`],
  );
  const secret = secretOf(key ?? '');
  if (secret === null || id === '' || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(receivedAt.getTime() - Number(timestamp) * 1_000) > TOLERANCE_MS) return false;
  const right = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return signatures.split(' ', MAX_SIGNATURES).some((each) => sameSecret(each, `v1,${right}`));
}

function secretOf(key: string): Buffer | null {
  const [, base64 = ''] = /^(?:whsec_)?([A-Za-z\d+/]{1,1000}={0,2})$/.exec(key) ?? [];
  const secret = Buffer.from(base64, 'base64');
  return secret.length === 0 ? null : secret;
}

function eventOf(event: GenericEvent): FeedbackEvent {
  const { token, messageId, address } = event;
  return { ...factOf(event), token, providerMessageId: messageId, address };
}

/** A bounce's class is by the code and the server's words; `permanent` says that the address is dead, where these tell nothing. */
function factOf({ type, smtpCode, enhancedCode, detail, permanent }: GenericEvent): FeedbackFact {
  if (type !== 'bounce') return { kind: type };
  return bounceOf({ words: detail, code: smtpCode, enhancedCode }, (byWords) =>
    byWords === 'unknown' && permanent ? 'hard' : byWords,
  );
}
