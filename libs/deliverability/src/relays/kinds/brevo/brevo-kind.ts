import type { RelayKindRules } from '../kind.js';
import { brevoFeedback, TOKEN_HEADER } from './brevo-feedback.js';

/**
 * Brevo by SMTP: its user is the login of its SMTP settings, its password an SMTP key. Port 587 offers STARTTLS.
 * https://developers.brevo.com/docs/smtp-integration
 */
export const brevoKind: RelayKindRules = {
  name: 'Brevo',
  options: {},
  endpoint: () => ({ host: 'smtp-relay.brevo.com', port: 587, tls: 'REQUIRED' }),
  // Message-ID is kept. From is replaced only as long as the domain is not authenticated at Brevo, which is to be put right,
  // not to be signed for: https://help.brevo.com/hc/en-us/articles/16045394674066
  replacedHeaders: [],
  // Not X-Mailin-Tag too: tags are what its statistics are grouped by.
  headersOf: ({ token }) => [[TOKEN_HEADER, token]],
  /**
   * `2.0.0 OK: queued as <…>`, as the logs of its users show; no page of Brevo's tells of it. It is the mail's Message-ID where
   * it has one. The events have it with or without the brackets.
   */
  messageIdOf: (replyText) => /\bqueued as <([^<>\s]{1,255})>/i.exec(replyText)?.[1] ?? null,
  // As a Message-ID is (RFC 5322 §3.6.4).
  idIsUnique: true,
  // The return path is one of Brevo's own. Its pages do not say so; others have seen it:
  // https://www.captaindns.com/en/blog/brevo-transactional-email-technical-guide
  dnsRecords: ['OWNERSHIP', 'DKIM', 'DMARC'],
  feedback: brevoFeedback,
};
