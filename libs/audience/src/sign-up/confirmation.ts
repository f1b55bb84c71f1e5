import { RateLimitedError } from '#kernel';
import { type Consent, isUnconfirmed } from '../consents/consent.js';

/** A confirmation request: a mail whose link covers the topics of one grant. */
export interface Confirmation {
  readonly confirmationId: string;
  readonly subscriberId: string;
  readonly topicIds: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export type ConfirmationState = 'open' | 'confirmed' | 'expired' | 'gone';

/** The current consents that a request covers, without those granted again since, which have their own request. */
export function coveredBy(confirmation: Confirmation, consents: readonly Consent[]): readonly Consent[] {
  const { topicIds, createdAt } = confirmation;
  return consents.filter(
    ({ topicId, grantedAt }) => topicIds.includes(topicId) && grantedAt !== null && grantedAt <= createdAt,
  );
}

/**
 * The state of the link, given the `consents` that it covers. It works once: when none is pending any more, it is confirmed while
 * one of them is subscribed, else gone.
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

/** Confirmation mails go out at most once a minute and five times a day for one consent. */
export class ResendTooSoonError extends RateLimitedError {
  constructor(retryAfterSeconds: number) {
    super('The confirmation mail was sent too recently or too often.', retryAfterSeconds);
  }
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const REPEATS_A_DAY = 5;

/** The period in which repeats count. */
export function repeatsCountSince(now: Date): Date {
  return new Date(now.getTime() - DAY_MS);
}

/**
 * Seconds until the confirmation mail of a consent may be repeated, 0 for now: at most once a minute and five times a day.
 * `repeats` are the times of its repeats, without the first mail.
 */
export function secondsUntilRepeat(repeats: readonly Date[], now: Date): number {
  const latest = repeats.map((at) => at.getTime()).sort((a, b) => b - a);
  const afterMinute = (latest[0] ?? -Infinity) + MINUTE_MS;
  const afterDay = (latest[REPEATS_A_DAY - 1] ?? -Infinity) + DAY_MS;
  return Math.max(0, Math.ceil((Math.max(afterMinute, afterDay) - now.getTime()) / 1_000));
}
