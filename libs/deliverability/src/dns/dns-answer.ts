import { failed, type RecordVerdict } from './record-verdict.js';

/** What DNS says of one host and type. */
export type DnsAnswer<Entry> =
  | { readonly kind: 'found'; readonly entries: readonly Entry[] }
  /** The name or the type does not exist (RFC 2308 §2): a void look-up of SPF. */
  | { readonly kind: 'missing'; readonly reason: string }
  /** The zone is at fault: CNAMEs in a circle, or too many of them. */
  | { readonly kind: 'broken'; readonly reason: string }
  /** Nobody knows: a server failed, refused or did not answer. */
  | { readonly kind: 'error'; readonly reason: string };

export interface MailExchange {
  /** As in DNS, without the trailing dot; empty for a null MX (RFC 7505). */
  readonly exchange: string;
  readonly priority: number;
}

/** What a look-up without entries means for the record that was looked for. */
export function verdictOf(answer: Exclude<DnsAnswer<unknown>, { kind: 'found' }>): RecordVerdict {
  switch (answer.kind) {
    case 'missing':
      return failed('MISSING', answer.reason);
    case 'broken':
      return failed('SYNTAX', answer.reason);
    case 'error':
      return failed('DNS_ERROR', answer.reason);
  }
}
