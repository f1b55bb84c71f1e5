import { type Consent, isUnconfirmed } from '../consents/consent.js';

/** One request to confirm: a mail whose link covers the topics of one grant. */
export interface Confirmation {
  readonly confirmationId: string;
  readonly subscriberId: string;
  readonly topicIds: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export type ConfirmationState = 'open' | 'confirmed' | 'expired' | 'gone';

/** Its consents as they stand, without those that were revoked and granted anew since: they have a request of their own. */
export function coveredBy(confirmation: Confirmation, consents: readonly Consent[]): readonly Consent[] {
  const { topicIds, createdAt } = confirmation;
  return consents.filter(
    ({ topicId, grantedAt }) => topicIds.includes(topicId) && grantedAt !== null && grantedAt <= createdAt,
  );
}

/**
 * What the link does now. `consents` are the covered ones. It works once: when none of them waits any more it
 * is confirmed while one of them stands, else gone.
 */
export function confirmationState(
  { expiresAt }: Confirmation,
  consents: readonly Consent[],
  now: Date,
): ConfirmationState {
  if (!consents.some(isUnconfirmed)) {
    return consents.some(({ status }) => status === 'SUBSCRIBED') ? 'confirmed' : 'gone';
  }
  return expiresAt > now ? 'open' : 'expired';
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const REPEATS_A_DAY = 5;

/** How far back repeats count. */
export function repeatsCountSince(now: Date): Date {
  return new Date(now.getTime() - DAY_MS);
}

/**
 * Seconds until one consent's confirmation mail may be repeated, 0 when it may now: at most once a minute and
 * five times a day. `repeats` are the times of its repeats; the first mail is none.
 */
export function secondsUntilRepeat(repeats: readonly Date[], now: Date): number {
  const latest = repeats.map((at) => at.getTime()).sort((a, b) => b - a);
  const afterMinute = (latest[0] ?? -Infinity) + MINUTE_MS;
  const afterDay = (latest[REPEATS_A_DAY - 1] ?? -Infinity) + DAY_MS;
  return Math.max(0, Math.ceil((Math.max(afterMinute, afterDay) - now.getTime()) / 1_000));
}
