import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { BounceClass } from '../../bounces/bounce-class.js';
import {
  bounceOf,
  eventsOf,
  isRecent,
  jsonOf,
  readJson,
  sameSecret,
  shortField,
  shortText,
  textField,
  tokenField,
} from './event-fields.js';
import type { FeedbackFact, FeedbackProof, FeedbackRequest, ReadFeedback, RelayKindRules } from './kind.js';

/** api-intro, “Mailgun Regions”. */
const HOSTS = new Map([
  ['us', 'smtp.mailgun.org'],
  ['eu', 'smtp.eu.mailgun.org'],
]);

/** The signature part of a request. */
const signed = z.object({
  signature: z.object({
    // A string in the samples, `int` in the table of parameters.
    timestamp: z
      .union([z.string().regex(/^\d{1,12}$/), z.int().min(0).max(999_999_999_999)])
      .transform(String),
    token: shortText,
    signature: z.string(),
    'parent-signature': z.string().optional(),
  }),
});

/** Mailgun tries for 8 hours (user-manual/events/webhooks), and does not say that it signs anew each time. */
const MAX_AGE_MS = 9 * 60 * 60_000;

const VARIABLE = 'mailwright';

const NO_REJECT = { reason: '', description: '' };
const NO_STATUS = { code: 0, message: '', description: '', 'enhanced-code': null, 'bounce-code': null };

/** documentation.mailgun.com, “Event Structure” and the samples below it; webhooks have one event each. */
const mailgunEvent = z.object({
  'event-data': z.object({
    event: z.string(),
    severity: textField,
    reject: z.object({ reason: textField, description: textField }).catch(NO_REJECT),
    reason: textField,
    recipient: shortField,
    'user-variables': z.object({ [VARIABLE]: tokenField }).catch({ [VARIABLE]: null }),
    message: z
      .object({ headers: z.object({ 'message-id': shortField }) })
      .catch({ headers: { 'message-id': null } }),
    'delivery-status': z
      .object({
        code: z.number().catch(0),
        message: textField,
        description: textField,
        'enhanced-code': shortField,
        'bounce-code': shortField,
      })
      .catch(NO_STATUS),
  }),
});

type MailgunEvent = z.output<typeof mailgunEvent>['event-data'];

/**
 * Pages are those of documentation.mailgun.com/docs/mailgun. The option `domain` changes nothing here: SMTP credentials belong
 * to one domain (user-manual/sending-messages/send-smtp).
 */
export const mailgunKind: RelayKindRules = {
  name: 'Mailgun',
  options: { region: { pattern: /^(?:us|eu)$/i, inWords: 'us or eu' }, domain: null },
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
  idIsUnique: true,
  // Mailgun has envelope senders of its own, below the domain that was set up there, and takes the bounces.
  dnsRecords: ['OWNERSHIP', 'DKIM', 'DMARC'],
  feedback: {
    isGenuine: isSigned,
    read: ({ body }) => {
      const event = readJson(body, mailgunEvent)['event-data'];
      const token = event['user-variables'][VARIABLE];
      const providerMessageId = event.message.headers['message-id'];
      const events = eventsOf(factOf(event), { token, providerMessageId, address: event.recipient });
      return { events, ...onceTokenOf(body) };
    },
  },
};

/**
 * user-manual/webhooks/securing-webhooks. The signature is over timestamp and token alone: it does not cover the event, and
 * whoever has seen a request could put another event under it. Against that are TLS, the secret in our address, the bound of
 * its age and that a token counts once. Events of a subaccount are signed with the key of the parent's too.
 */
function isSigned({ body, receivedAt }: FeedbackRequest, { key }: FeedbackProof): boolean {
  const request = key === null ? null : jsonOf(body.toString(), signed);
  if (request === null || key === null) return false;
  const { timestamp, token, signature, 'parent-signature': parent = '' } = request.signature;
  const expected = createHmac('sha256', key).update(`${timestamp}${token}`).digest('hex');
  return (
    isRecent(Number(timestamp), receivedAt, MAX_AGE_MS) &&
    [signature, parent].some((each) => sameSecret(each, expected))
  );
}

/** user-manual/webhooks/securing-webhooks: the token is to be kept, and no later request with the same one honored. */
function onceTokenOf(body: Buffer): Pick<ReadFeedback, 'onceToken'> {
  const request = jsonOf(body.toString(), signed);
  if (request === null) return {};
  const { timestamp, token } = request.signature;
  return { onceToken: { value: token, until: new Date(Number(timestamp) * 1_000 + MAX_AGE_MS) } };
}

function factOf(event: MailgunEvent): FeedbackFact | null {
  switch (event.event) {
    case 'delivered':
      return { kind: 'delivered' };
    case 'complained':
      return { kind: 'complaint' };
    case 'unsubscribed':
      return { kind: 'unsubscribed' };
    case 'rejected':
      return factOfRejection(event);
    case 'failed':
      // A temporary failure is tried again.
      return event.severity === 'permanent' ? factOfFailure(event) : null;
    default:
      return null;
  }
}

/**
 * Mailgun gives up for all of: hard bounces, its retry limit, refusals by a provider, and addresses that it keeps from mail
 * itself (“Event Types”, `failed`). Of those the last ones have a reason that says why, and `bounce` need not be about the
 * address, as `generic` is not: so the server's words tell, and what they leave open is unknown.
 */
function factOfFailure({ reason, 'delivery-status': status }: MailgunEvent): FeedbackFact {
  if (reason === 'suppress-unsubscribe') return { kind: 'unsubscribed' };
  if (reason === 'suppress-complaint') return { kind: 'complaint' };
  const told = {
    words: status.message === '' ? status.description : status.message,
    code: status.code,
    enhancedCode: status['enhanced-code'] ?? status['bounce-code'],
  };
  return bounceOf(told, (byWords): BounceClass => (reason === 'suppress-bounce' ? 'hard' : byWords));
}

/**
 * “Event Types”, `rejected`: Mailgun itself refuses what it had accepted, for the account or the content. No server has
 * seen the mail, so that nothing is known of the address.
 */
function factOfRejection({ reject: { reason, description } }: MailgunEvent): FeedbackFact {
  const words = [reason, description].filter((part) => part !== '').join(': ');
  return bounceOf({ words }, (byWords): BounceClass => (byWords === 'hard' ? 'unknown' : byWords));
}
