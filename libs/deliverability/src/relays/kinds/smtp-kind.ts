import { createHmac } from 'node:crypto';
import { z } from 'zod';
import {
  bounceOf,
  eventsOf,
  isRecent,
  listOf,
  readJson,
  sameSecret,
  shortField,
  textField,
  tokenField,
} from './event-fields.js';
import type { FeedbackFact, FeedbackProof, FeedbackRequest, RelayKindRules } from './kind.js';

/** Most events of a request; more go into several. */
const MAX_EVENTS = 500;
/** Signatures by secrets in use at once. */
const MAX_SIGNATURES = 10;
/** The tolerance of the libraries of Standard Webhooks, which is the same ahead. */
const MAX_AGE_MS = 5 * 60_000;

/**
 * One event. Each property but `type` may be left out; a malformed one counts as left out. Other properties, such as a time
 * `at`, are ignored. `messageId` is the id that the relay gave the mail in its reply.
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

/** Any server that takes mail by SMTP, an own Postfix say. */
export const smtpKind: RelayKindRules = {
  name: 'SMTP',
  options: {},
  endpoint: () => null,
  replacedHeaders: [],
  headersOf: () => [],
  /** Queue id, as its log has it: `2.0.0 Ok: queued as 4dF3vN0bqzz1k` (Postfix), `OK id=1tEQk2-0000000A1bC-3dEf` (Exim). */
  messageIdOf: (replyText) => /\b(?:queued as |id=)([\w-]{1,255})/i.exec(replyText)?.[1] ?? null,
  // Postfix's queue ids come again, unless `enable_long_queue_ids` says no: https://www.postfix.org/postconf.5.html
  idIsUnique: false,
  dnsRecords: ['OWNERSHIP', 'DKIM', 'SPF', 'MX', 'DMARC'],
  feedbackKey: { isUsable: (key) => secretOf(key) !== null, inWords: 'whsec_ and a secret in base64' },
  /**
   * Events as a program that reads the relay's log posts them: `{ "events": [{ "type": "bounce", … }] }`, signed as our own
   * webhooks are (https://www.standardwebhooks.com), so that one library does both.
   */
  feedback: {
    isGenuine: isSigned,
    read: ({ body }) => ({
      events: readJson(body, genericEvents, IN_WORDS).events.flatMap((event) => {
        const { token, messageId: providerMessageId, address } = event;
        return eventsOf(factOf(event), { token, providerMessageId, address });
      }),
    }),
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
  if (!isRecent(Number(timestamp), receivedAt, MAX_AGE_MS)) return false;
  const right = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return signatures.split(' ', MAX_SIGNATURES).some((each) => sameSecret(each, `v1,${right}`));
}

function secretOf(key: string): Buffer | null {
  const [, base64 = ''] = /^(?:whsec_)?([A-Za-z\d+/]{1,1000}={0,2})$/.exec(key) ?? [];
  const secret = Buffer.from(base64, 'base64');
  return secret.length === 0 ? null : secret;
}

/** A bounce's class is by the code and the server's words; where they tell nothing, `permanent` means a dead address. */
function factOf({ type, smtpCode, enhancedCode, detail, permanent }: GenericEvent): FeedbackFact {
  if (type !== 'bounce') return { kind: type };
  return bounceOf({ words: detail, code: smtpCode, enhancedCode }, (byWords) =>
    byWords === 'unknown' && permanent ? 'hard' : byWords,
  );
}
