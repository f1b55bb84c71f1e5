import type { RelayStream } from '../../relay-terms.js';
import { sameSecret } from '../same-secret.js';
import type { FeedbackProof, FeedbackRequest } from '../feedback.js';
import type { RelayKindRules } from '../kind.js';
import { METADATA_KEY, readPostmarkEvent } from './postmark-events.js';

/** Mail to many at once; the others answer what one person did (postmarkapp.com/developer, “Message Streams”). */
const BROADCASTS: readonly RelayStream[] = ['CAMPAIGN', 'AUTOMATION'];
/** No page says that the reply to the body names the MessageID; ids are UUIDs (developer/api/email-api), so one in it is it. */
const MESSAGE_ID = /\b([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\b/i;
const BASIC = /^basic ([\w+/=-]{1,2000})$/i;

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
  feedback: { isGenuine: hasPassword, read: ({ body }) => ({ events: readPostmarkEvent(body) }) },
};

/**
 * developer/webhooks/webhooks-overview: Postmark signs nothing; a webhook may have HTTP basic authentication. So the secret in
 * our address is the proof, and a password besides where the relay has a key, whoever the user is.
 */
function hasPassword({ headers }: FeedbackRequest, { key }: FeedbackProof): Promise<boolean> {
  if (key === null) return Promise.resolve(true);
  const credentials = Buffer.from(BASIC.exec(headers['authorization'] ?? '')?.[1] ?? '', 'base64').toString();
  const colon = credentials.indexOf(':');
  return Promise.resolve(colon !== -1 && sameSecret(credentials.slice(colon + 1), key));
}
