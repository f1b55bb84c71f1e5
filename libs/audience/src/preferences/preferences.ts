import type { ConsentStatus } from '../consents/consent.js';
import type { TopicTexts } from '../topics/topic-texts.js';

/** The numbers of days for which all mail can be paused. */
export const PAUSE_DAYS = [7, 30, 90] as const;
export type PauseDays = (typeof PAUSE_DAYS)[number];

/** The subscriber whom a page is for. */
export interface PageReader {
  readonly subscriberId: string;
  readonly email: string;
  /** BCP 47; null where it is not known. */
  readonly locale: string | null;
}

/** The preferences of a subscriber: the topics of the project with their consents. */
export interface Preferences {
  readonly email: string;
  /** BCP 47; null where it is not known. */
  readonly locale: string | null;
  /** IANA; null where it is not known. */
  readonly timeZone: string | null;
  /** Whether the address is suppressed, which preferences cannot change. */
  readonly suppressed: boolean;
  /** When the pause of all mail ends; null when mail is not paused. */
  readonly pausedUntil: Date | null;
  /** By name: the active topics, and others that the reader may still get mail about. */
  readonly topics: readonly TopicPreference[];
}

export interface TopicPreference extends TopicTexts {
  readonly topicKey: string;
  /** null where consent was never given. */
  readonly status: ConsentStatus | null;
  /** Whether it accepts new consents. */
  readonly isActive: boolean;
}

/** The end of a pause that begins now. */
export function pauseEnd(days: PauseDays, now: Date): Date {
  return new Date(now.getTime() + days * 24 * 3_600_000);
}
