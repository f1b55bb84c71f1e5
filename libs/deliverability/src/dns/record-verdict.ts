/** Fault of a record, the first word of `failureReason`. */
export type FailureCode =
  | 'MISSING'
  | 'MISMATCH'
  | 'MULTIPLE'
  | 'SYNTAX'
  | 'SPF_TOO_MANY_LOOKUPS'
  | 'DNS_ERROR';

/** Result of one check of a record. */
export type RecordVerdict =
  | {
      readonly status: 'VERIFIED';
      /** As it stands in DNS; several records one a line. */
      readonly actualValue: string;
      /** Possible improvement. */
      readonly note: string | null;
    }
  | {
      readonly status: 'FAILED';
      readonly actualValue: string | null;
      readonly code: FailureCode;
      /** In words for whoever edits the zone. */
      readonly reason: string;
    };

const SHOWN_CHARACTERS = 4_000;

export function verified(actual: readonly string[], note: string | null = null): RecordVerdict {
  return { status: 'VERIFIED', actualValue: shown(actual.join('\n')), note };
}

export function failed(code: FailureCode, reason: string, actual: readonly string[] = []): RecordVerdict {
  const actualValue = actual.length === 0 ? null : shown(actual.join('\n'));
  return { status: 'FAILED', code, reason: shown(reason), actualValue };
}

/** A stranger's zone may hold anything: NUL, which PostgreSQL cannot keep, and texts without end. */
function shown(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\n]/gu, '\ufffd')
    .slice(0, SHOWN_CHARACTERS)
    .toWellFormed();
}

/** Answer of DNS about one host and type. */
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

/** The verdict on a record whose look-up found nothing. */
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

const TAG = /^\s*(?<name>[A-Za-z][A-Za-z0-9_]*)\s*=(?<value>.*)$/s;

/** The tags of a DKIM or DMARC record (RFC 6376 §3.2, RFC 9989 §4.7) by name, or null when it is no tag list. */
export function parseTagList(text: string): ReadonlyMap<string, string> | null {
  const tags = new Map<string, string>();
  for (const part of text.replace(/;\s*$/, '').split(';')) {
    const { name, value } = TAG.exec(part)?.groups ?? {};
    if (name === undefined || value === undefined || tags.has(name)) return null;
    tags.set(name, value.trim());
  }
  return tags;
}
