import { z } from 'zod';
import type { BounceClass } from '../../bounces/bounce-class.js';
import {
  bounceOf,
  eventsOf,
  readJson,
  sameSecret,
  shortField,
  textField,
  tokenField,
} from './event-fields.js';
import type { FeedbackFact, FeedbackProof, FeedbackRequest, RelayKindRules, RelayStream } from './kind.js';

/** Mail to many at once; the others answer what one person did (postmarkapp.com/developer, “Message Streams”). */
const BROADCASTS: readonly RelayStream[] = ['CAMPAIGN', 'AUTOMATION'];
/** No page says that the reply to the body names the MessageID; ids are UUIDs (developer/api/email-api), so one in it is it. */
const MESSAGE_ID = /\b([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\b/i;
const BASIC = /^basic ([\w+/=-]{1,2000})$/i;

const METADATA_KEY = 'mailwright';

/** The pages of postmarkapp.com/developer/webhooks: one event a request, whose kind is `RecordType`. */
const postmarkEvent = z.object({
  RecordType: z.string(),
  MessageID: shortField,
  Metadata: z.object({ [METADATA_KEY]: tokenField }).catch({ [METADATA_KEY]: null }),
  /** The address in bounces and complaints; the others have `Recipient`. */
  Email: shortField,
  Recipient: shortField,
  Type: textField,
  Details: textField,
  SuppressSending: z.boolean().catch(false),
  SuppressionReason: textField,
});

type PostmarkEvent = z.output<typeof postmarkEvent>;

/** Pages are those of postmarkapp.com. */
export const postmarkKind: RelayKindRules = {
  name: 'Postmark',
  // It becomes the value of a header field.
  options: {
    messageStream: { pattern: /^[!-~]+$/, inWords: 'the id of a message stream: ASCII without spaces' },
  },
  // support/article/811: ports 25, 2525 and 587, TLS by STARTTLS and recommended; broadcast streams have a host of their own.
  endpoint: ({ messageStream }) => ({
    host: messageStream === 'broadcast' ? 'smtp-broadcasts.postmarkapp.com' : 'smtp.postmarkapp.com',
    port: 587,
    tls: 'REQUIRED',
  }),
  // developer/user-guide/send-email-with-smtp: a Message-ID is replaced unless X-PM-KeepID says to keep it.
  replacedHeaders: [],
  // developer.postmarkapp.com/developer-smtp.html: a mail is taken apart and put together anew.
  signs: 'ALWAYS',
  headersOf: ({ token, stream, options: { messageStream } }) => [
    ['X-PM-Message-Stream', messageStream ?? (BROADCASTS.includes(stream) ? 'broadcast' : 'outbound')],
    ['X-PM-KeepID', 'true'],
    // support/article/1125: keys of up to 20 characters, values of up to 80; taken out before the mail goes on.
    [`X-PM-Metadata-${METADATA_KEY}`, token],
  ],
  messageIdOf: (replyText) => MESSAGE_ID.exec(replyText)?.[1]?.toLowerCase() ?? null,
  idIsUnique: true,
  // No signature of ours is looked at, and bounces come to Postmark.
  dnsRecords: ['OWNERSHIP', 'DMARC'],
  feedback: {
    isGenuine: hasPassword,
    read: ({ body }) => {
      const event = readJson(body, postmarkEvent);
      const { Metadata, MessageID: providerMessageId } = event;
      const address = event.Email ?? event.Recipient;
      return {
        events: eventsOf(factOf(event), { token: Metadata[METADATA_KEY], providerMessageId, address }),
      };
    },
  },
};

/**
 * developer/webhooks/webhooks-overview: Postmark signs nothing; a webhook may have HTTP basic authentication. So the secret in
 * our address is the proof, and a password besides where the relay has a key, whoever the user is.
 */
function hasPassword({ headers }: FeedbackRequest, { key }: FeedbackProof): boolean {
  if (key === null) return true;
  const credentials = Buffer.from(BASIC.exec(headers['authorization'] ?? '')?.[1] ?? '', 'base64').toString();
  const colon = credentials.indexOf(':');
  return colon !== -1 && sameSecret(credentials.slice(colon + 1), key);
}

function factOf(event: PostmarkEvent): FeedbackFact | null {
  switch (event.RecordType) {
    case 'Bounce':
      return factOfBounce(event);
    case 'SpamComplaint':
      return { kind: 'complaint' };
    case 'Delivery':
      return { kind: 'delivered' };
    case 'SubscriptionChange':
      return event.SuppressSending ? factOfSuppression(event.SuppressionReason) : null;
    default:
      return null;
  }
}

/** An address is suppressed for one of three reasons; who unsubscribes is so by hand (subscription-change-webhook). */
function factOfSuppression(reason: string): FeedbackFact | null {
  if (reason === 'ManualSuppression') return { kind: 'unsubscribed' };
  if (reason === 'SpamComplaint') return { kind: 'complaint' };
  return reason === 'HardBounce' ? bounceOf({ words: '' }, () => 'hard') : null;
}

type ClassOfType = BounceClass | ((byWords: BounceClass) => BounceClass);

/**
 * postmarkapp.com/developer/api/bounce-api, “Bounce types”, by name: the codes beside them differ between its pages. Postmark
 * has read the server's words itself and deactivates the address for a hard bounce; where its type leaves several reasons
 * open, the words decide between them. Not here, and so left out, are types that are no refusal: `Transient` (a delay, it
 * tries on), `Subscribe`, `AutoResponder`, `AddressChange`, `OpenRelayTest`, `ChallengeVerification`, `InboundError`.
 */
const CLASSES = new Map<string, ClassOfType>([
  ['HardBounce', 'hard'],
  ['BadEmailAddress', 'hard'],
  // “mailbox full, account disabled, exceeds quota, out of disk space”: not for good, whatever the words are.
  ['SoftBounce', (byWords) => (['hard', 'unknown'].includes(byWords) ? 'mailbox' : byWords)],
  ['DnsError', 'network'],
  // “either blocked by the user, or classified as spam, bulk mail, or had rejected content”
  ['SpamNotification', (byWords) => (byWords === 'policy' ? 'policy' : 'content')],
  ['VirusNotification', 'content'],
  ['TemplateRenderingFailed', 'content'],
  ['Blocked', 'policy'],
  ['DMARCPolicy', 'sender'],
  ['Unknown', (byWords) => byWords],
  // Postmark did not send them: it or its customer had reasons that are not named, which need not be the address.
  ['ManuallyDeactivated', 'unknown'],
  ['Unconfirmed', 'unknown'],
  ['SMTPApiError', 'unknown'],
]);

function factOfBounce({ Type, Details }: PostmarkEvent): FeedbackFact | null {
  if (Type === 'SpamComplaint') return { kind: 'complaint' };
  if (Type === 'Unsubscribe') return { kind: 'unsubscribed' };
  const known = CLASSES.get(Type);
  if (known === undefined) return null;
  return bounceOf({ words: Details }, (byWords) => (typeof known === 'string' ? known : known(byWords)));
}
