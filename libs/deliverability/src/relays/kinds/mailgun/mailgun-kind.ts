import type { RelayKindRules } from '../kind.js';
import { readMailgunEvent, VARIABLE } from './mailgun-events.js';
import { isSigned, onceTokenOf } from './mailgun-signature.js';

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
    read: ({ body }) => ({ events: readMailgunEvent(body), ...onceTokenOf(body) }),
  },
};
