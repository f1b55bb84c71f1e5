import type { ConsentStatus } from '../consents/consent.js';

/** For how many days all mail can be paused. */
export const PAUSE_DAYS = [7, 30, 90] as const;
export type PauseDays = (typeof PAUSE_DAYS)[number];

/** What its reader may get from a project, topic by topic. */
export interface Preferences {
  readonly email: string;
  /** No mail at all goes to this address, and nothing here changes that. */
  readonly suppressed: boolean;
  /** Until when all mail is held; null when it is not. */
  readonly pausedUntil: Date | null;
  /** The active topics by name, and among them those others that the reader could still get mail about. */
  readonly topics: readonly TopicPreference[];
}

export interface TopicPreference {
  readonly topicKey: string;
  readonly topicName: string;
  readonly description: string | null;
  /** null where consent was never given. */
  readonly status: ConsentStatus | null;
  /** Whether it takes new consents. */
  readonly isActive: boolean;
}

/** The end of a pause that begins now. */
export function pauseEnd(days: PauseDays, now: Date): Date {
  return new Date(now.getTime() + days * 24 * 3_600_000);
}
