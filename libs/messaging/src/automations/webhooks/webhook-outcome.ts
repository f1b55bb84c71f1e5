import { type OutgoingAnswer, OutgoingHttpError } from '#platform';

/** How a call went. What is final would go the same way again. */
export type WebhookOutcome =
  | { readonly kind: 'accepted'; readonly detail: string }
  | { readonly kind: 'refused'; readonly detail: string; readonly isFinal: boolean };

const GONE = 410;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
/** Between one try and the next: six tries in two and a half hours. */
const RETRY_AFTER_MS = [10 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 120 * MINUTE_MS];

export function outcomeOfAnswer({ status }: Pick<OutgoingAnswer, 'status'>): WebhookOutcome {
  const detail = `answered ${status}`;
  if (status >= 200 && status < 300) return { kind: 'accepted', detail };
  return { kind: 'refused', detail, isFinal: status === GONE };
}

export function outcomeOfError(error: unknown): WebhookOutcome {
  if (!(error instanceof OutgoingHttpError)) throw error;
  const isFinal = error.fault === 'address' || error.fault === 'url';
  return { kind: 'refused', detail: `${error.fault}: ${error.message}`, isFinal };
}

/** When the next try comes after so many; null when there is none. */
export function nextTry(attempts: number, now: Date): Date | null {
  const wait = RETRY_AFTER_MS[attempts - 1];
  return wait === undefined ? null : new Date(now.getTime() + wait);
}
