import { createHmac, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { classifyRefusal } from '../../../bounces/bounce-class.js';
import { refusalOf } from '../../../bounces/refusal-text.js';
import {
  type FeedbackEvent,
  type FeedbackFact,
  type FeedbackFormat,
  type FeedbackProof,
  type FeedbackRequest,
  type ReadFeedback,
  UnreadableFeedbackError,
} from '../feedback.js';

const MAX_EVENTS = 2_000;
const MAX_EXCERPT = 500;
/** As the libraries of Standard Webhooks take it. */
const TOLERANCE_MS = 5 * 60_000;

/**
 * One event. Each property but `type` may be left out; one that is no such value counts as left out. Who reports may add
 * others of its own, `at` say, the time of it. `messageId` is the id that the relay gave the mail in its reply.
 */
const Event = z.object({
  type: z.enum(['bounce', 'complaint', 'delivered', 'unsubscribed']),
  token: z
    .string()
    .regex(/^[\w+.-]{1,64}$/)
    .nullable()
    .catch(null),
  messageId: z
    .string()
    .regex(/^[^\s\p{C}]{1,255}$/u)
    .nullable()
    .catch(null),
  address: z
    .string()
    .regex(/^[^\s\p{C}]{1,255}$/u)
    .nullable()
    .catch(null),
  smtpCode: z.int().min(400).max(599).nullable().catch(null),
  enhancedCode: z
    .string()
    .regex(/^[45]\.\d{1,3}\.\d{1,3}$/)
    .nullable()
    .catch(null),
  detail: z.string().catch(''),
  permanent: z.boolean().catch(false),
});
const Body = z.object({ events: z.array(z.unknown()).max(MAX_EVENTS) });

/**
 * Events of any other relay, as the program that reads its log posts them: `{ "events": [{ "type": "bounce", … }] }`, signed
 * as our own webhooks are (https://www.standardwebhooks.com), so that one library does both. `proof.key` is `whsec_` and the
 * secret in base64.
 */
export const genericFeedback: FeedbackFormat = {
  isGenuine: (request, proof) => Promise.resolve(isSigned(request, proof)),
  read: ({ body }): ReadFeedback => {
    const { success, data } = Body.safeParse(parsed(body));
    if (!success)
      throw new UnreadableFeedbackError(`must be an object with "events": at most ${MAX_EVENTS} of them`);
    return { events: data.events.flatMap(eventsOf) };
  },
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
  const right = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest();
  return signatures.split(' ').some((each) => {
    const given = Buffer.from(/^v1,([\w+/=]{1,100})$/.exec(each)?.[1] ?? '', 'base64');
    return given.length === right.length && timingSafeEqual(given, right);
  });
}

function secretOf(key: string): Buffer | null {
  const [, base64 = ''] = /^(?:whsec_)?([A-Za-z\d+/]{1,1000}={0,2})$/.exec(key) ?? [];
  const secret = Buffer.from(base64, 'base64');
  return secret.length === 0 ? null : secret;
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return null;
  }
}

function eventsOf(value: unknown): FeedbackEvent[] {
  const { success, data } = Event.safeParse(value);
  if (!success) return [];
  const { type, token, messageId, address } = data;
  const fact = type === 'bounce' ? bounceOf(data) : { kind: type };
  return [{ ...fact, token, providerMessageId: messageId, address }];
}

/** By the code and the server's words; `permanent` says that the address is dead, where these tell nothing. */
function bounceOf({ smtpCode, enhancedCode, detail, permanent }: z.infer<typeof Event>): FeedbackFact {
  const inWords = refusalOf(detail, enhancedCode);
  const refusal = { ...inWords, code: smtpCode ?? inWords.code };
  const bySaid = classifyRefusal(refusal);
  return {
    kind: 'bounce',
    class: bySaid === 'unknown' && permanent ? 'hard' : bySaid,
    basicCode: refusal.code || null,
    enhancedCode: refusal.enhancedCode,
    excerpt: detail.replaceAll('\0', '').slice(0, MAX_EXCERPT).toWellFormed().trim() || null,
  };
}
