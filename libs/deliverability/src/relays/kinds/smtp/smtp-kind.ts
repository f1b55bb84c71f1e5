import type { RelayKindRules } from '../kind.js';

/** Any server that takes mail by SMTP, an own Postfix say. */
export const smtpKind: RelayKindRules = {
  kind: 'SMTP',
  name: 'SMTP',
  options: [],
  endpoint: () => null,
  replacedHeaders: [],
  headersOf: () => [],
  messageIdOf: () => null,
  dnsRecords: ['OWNERSHIP', 'DKIM', 'SPF', 'MX', 'DMARC'],
  feedback: null,
};
