import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { jsonOf } from '../event-fields.js';
import type { FeedbackProof, FeedbackRequest } from '../feedback.js';
import type { RelayKindRules } from '../kind.js';
import { sameSecret } from '../same-secret.js';
import { readMailgunEvent, VARIABLE } from './mailgun-events.js';

/** api-intro, “Mailgun Regions”. */
const HOSTS = new Map([
  ['us', 'smtp.mailgun.org'],
  ['eu', 'smtp.eu.mailgun.org'],
]);

/**
 * Pages are those of documentation.mailgun.com/docs/mailgun. The option `domain` changes nothing here: SMTP credentials belong
 * to one domain (user-manual/sending-messages/send-smtp).
 */
export const mailgunKind: RelayKindRules = {
  kind: 'MAILGUN',
  name: 'Mailgun',
  options: ['region', 'domain'],
  optionValues: { region: { pattern: /^(?:us|eu)$/i, inWords: 'us or eu' } },
  // send-smtp: 587 is recommended, and upgraded by STARTTLS.
  endpoint: ({ region }) => {
    const host = HOSTS.get(region?.toLowerCase() ?? 'us');
    return host === undefined ? null : { host, port: 587, tls: 'REQUIRED' };
  },
  replacedHeaders: [],
  headersOf: ({ token }) => [
    // “Attaching Data to Messages”: a JSON map. Readers can see it in the mail's headers.
    ['X-Mailgun-Variables', JSON.stringify({ [VARIABLE]: token })],
    // pass-sending-options: opens and clicks are ours to count, and rewritten links would break our signature.
    ['X-Mailgun-Track', 'no'],
  ],
  // The reply is `250 Great success` (github.com/PHPMailer/PHPMailer/issues/1253); events name our own Message-ID.
  messageIdOf: () => null,
  // Mailgun has envelope senders of its own, below the domain that was set up there, and takes the bounces.
  dnsRecords: ['OWNERSHIP', 'DKIM', 'DMARC'],
  feedback: { isGenuine: isSigned, read: ({ body }) => ({ events: readMailgunEvent(body) }) },
};

const signed = z.object({
  signature: z.object({
    // A string in the samples, `int` in the table of parameters.
    timestamp: z.union([z.string().regex(/^\d{1,12}$/), z.int().nonnegative()]).transform(String),
    token: z.string().max(255),
    signature: z.string(),
    'parent-signature': z.string().optional(),
  }),
});

const HOUR = 3_600_000;
/** Mailgun tries for 8 hours (user-manual/events/webhooks), and does not say that it signs anew each time. */
const OLDEST = 9 * HOUR;
const CLOCKS_DIFFER = HOUR / 12;

/**
 * user-manual/webhooks/securing-webhooks. The signature is over timestamp and token alone: it does not cover the event, and
 * whoever has seen a request could put another event under it. What is left against that is TLS, the secret in our address
 * and the bound of its age. Events of a subaccount are signed with the key of the parent's too.
 */
function isSigned({ body, receivedAt }: FeedbackRequest, { key }: FeedbackProof): Promise<boolean> {
  const request = key === null ? null : jsonOf(body.toString(), signed);
  if (request === null || key === null) return Promise.resolve(false);
  const { timestamp, token, signature, 'parent-signature': parent = '' } = request.signature;
  const age = receivedAt.getTime() - Number(timestamp) * 1_000;
  const expected = createHmac('sha256', key).update(`${timestamp}${token}`).digest('hex');
  return Promise.resolve(
    age <= OLDEST && age >= -CLOCKS_DIFFER && [signature, parent].some((each) => sameSecret(each, expected)),
  );
}
