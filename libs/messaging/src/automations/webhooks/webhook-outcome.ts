import type { PostOutcome } from '#platform';

/** The outcome of a call. A final refusal is not tried again. */
export type WebhookOutcome =
  | { readonly kind: 'accepted'; readonly detail: string }
  | { readonly kind: 'refused'; readonly detail: string; readonly isFinal: boolean };

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
/** Between one try and the next: six tries in two and a half hours. */
export const RETRY_AFTER_MS = [10 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 120 * MINUTE_MS];

/** `detail` is shown by executions. */
export function webhookOutcome({ verdict, answer, fault }: PostOutcome): WebhookOutcome {
  const detail = answer === null ? `${fault?.kind}: ${fault?.message}` : `answered ${answer.status}`;
  if (verdict === 'taken') return { kind: 'accepted', detail };
  return { kind: 'refused', detail, isFinal: verdict === 'final' };
}
