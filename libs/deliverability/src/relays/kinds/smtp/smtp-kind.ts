import type { RelayKindRules } from '../kind.js';
import { genericFeedback, genericKey } from './generic-feedback.js';

/** Any server that takes mail by SMTP, an own Postfix say. */
export const smtpKind: RelayKindRules = {
  name: 'SMTP',
  options: {},
  endpoint: () => null,
  replacedHeaders: [],
  headersOf: () => [],
  /** Its queue id, as its log names the mail: `2.0.0 Ok: queued as 4dF3vN0bqzz1k` (Postfix), `OK id=1tEQk2-0000000A1bC-3dEf` (Exim). */
  messageIdOf: (replyText) => /\b(?:queued as |id=)([\w-]{1,255})/i.exec(replyText)?.[1] ?? null,
  // Postfix's queue ids come again, unless `enable_long_queue_ids` says no: https://www.postfix.org/postconf.5.html
  idIsUnique: false,
  dnsRecords: ['OWNERSHIP', 'DKIM', 'SPF', 'MX', 'DMARC'],
  feedbackKey: genericKey,
  feedback: genericFeedback,
};
