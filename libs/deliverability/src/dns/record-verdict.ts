/** What may be wrong with a record. The first words of `failureReason`. */
export const FAILURE_CODES = [
  'MISSING',
  'MISMATCH',
  'MULTIPLE',
  'SYNTAX',
  'SPF_TOO_MANY_LOOKUPS',
  'DNS_ERROR',
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

/** What one look at a record found. */
export type RecordVerdict =
  | {
      readonly status: 'VERIFIED';
      /** As it stands in DNS; several records one a line. */
      readonly actualValue: string;
      /** What could be better about it. */
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

/** What stands in a stranger's zone may be anything: NUL, which PostgreSQL cannot keep, and texts without end. */
function shown(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\n]/gu, '\ufffd')
    .slice(0, SHOWN_CHARACTERS)
    .toWellFormed();
}
