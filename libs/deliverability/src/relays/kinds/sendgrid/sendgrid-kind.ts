import type { RelayOptions } from '../../relay-terms.js';
import type { MailForRelay, RelayEndpoint, RelayKindRules } from '../kind.js';
import { sendgridFeedback, sendgridKey, TOKEN_ARGUMENT } from './sendgrid-feedback.js';

/** https://www.twilio.com/docs/sendgrid/for-developers/sending-email/integrating-with-the-smtp-api; `eu` is for EU subusers. */
const HOSTS = new Map([
  ['global', 'smtp.sendgrid.net'],
  ['eu', 'smtp.eu.sendgrid.net'],
]);

/**
 * What SendGrid can do to a mail by its account's settings: count opens and clicks, which we do, and write into the body,
 * which our signature covers. https://www.twilio.com/docs/sendgrid/for-developers/sending-email/smtp-filters
 */
const SWITCHED_OFF = ['clicktrack', 'opentrack', 'subscriptiontrack', 'ganalytics', 'footer'] as const;
const FILTERS = Object.fromEntries(SWITCHED_OFF.map((filter) => [filter, { settings: { enable: 0 } }]));

/** Twilio SendGrid by SMTP: its password is an API key. */
export const sendgridKind: RelayKindRules = {
  name: 'Twilio SendGrid',
  options: { region: { pattern: /^(?:global|eu)$/, inWords: 'global or eu' } },
  // …/for-developers/sending-email/integrating-with-the-smtp-api: the username of all who send.
  username: 'apikey',
  endpoint,
  // Message-ID stays as it is: https://github.com/anymail/django-anymail/issues/108
  replacedHeaders: [],
  headersOf: (mail) => [['X-SMTPAPI', instructionsFor(mail)]],
  /**
   * `250 Ok: queued as Yo60h6C5ScGPeP5fUWU3K`, which `sg_message_id` begins with, up to a dot:
   * https://www.twilio.com/docs/sendgrid/for-developers/sending-email/getting-started-smtp and …/glossary/message-id
   */
  messageIdOf: (replyText) => /\bqueued as ([\w-]{1,255})/i.exec(replyText)?.[1] ?? null,
  idIsUnique: true,
  // "The MAIL FROM address is re-written when we send the email": neither SPF nor MX of a return path of ours is asked for.
  // https://www.twilio.com/docs/sendgrid/for-developers/sending-email/building-an-x-smtpapi-header
  dnsRecords: ['OWNERSHIP', 'DKIM', 'DMARC'],
  feedbackKey: sendgridKey,
  feedback: sendgridFeedback,
};

/** None for a region that we do not know: mail that is to stay in one must not leave by another. */
function endpoint({ region = 'global' }: RelayOptions): RelayEndpoint | null {
  const host = HOSTS.get(region);
  return host === undefined ? null : { host, port: 587, tls: 'REQUIRED' };
}

/**
 * Well below the 1 000 characters that the header may have; nothing of it needs escaping.
 * https://www.twilio.com/docs/sendgrid/for-developers/sending-email/building-an-x-smtpapi-header
 */
function instructionsFor({ token }: MailForRelay): string {
  return JSON.stringify({ unique_args: { [TOKEN_ARGUMENT]: token }, filters: FILTERS });
}
