import { type BounceClass, CONSEQUENCES } from './bounce-class.js';
import { classifyRefusal, type Refusal } from './refusal.js';

const MINUTE_MS = 60_000;
const DELAYS_MINUTES = [5, 15, 30, 60, 120, 240];
const JITTER = 0.2;

/** Time for which a message is tried, from the moment it was first due (RFC 5321 §4.5.4.1 asks for days). */
export const GIVE_UP_AFTER_MS = 48 * 60 * MINUTE_MS;

/**
 * When to try again after the `attempt`-th temporary failure (1 for the first): 5, 15, 30 min, 1, 2 h, then
 * every 4 h, each ± 20 %, or null when 48 h since `firstDueAt` would be over. `random` gives numbers in [0, 1).
 */
export function nextAttemptAt(
  attempt: number,
  firstDueAt: Date,
  now: Date,
  random: () => number,
): Date | null {
  const minutes = DELAYS_MINUTES[Math.min(Math.max(attempt, 1), DELAYS_MINUTES.length) - 1] ?? 240;
  const spread = 1 - JITTER + 2 * JITTER * random();
  const next = new Date(now.getTime() + minutes * MINUTE_MS * spread);
  return next.getTime() - firstDueAt.getTime() > GIVE_UP_AFTER_MS ? null : next;
}

/** Time for which a destination that refused mail for our reputation gets one mail a minute. */
export const SLOW_DOWN_MS = 90 * 60_000;

/**
 * So many reports within the time, each on another mail, slow a destination down. One does not: whoever got a mail can
 * send a report on it, and all mail to their mailbox provider would wait.
 */
export const DISTRUST_REPORTS = { enough: 3, withinMs: 60 * 60_000 } as const;

/** Greylisting asks for a second try (RFC 6647), and says nothing of the sender. */
const GREYLISTING = /\bgr[ae]y-?list/i;

/** True if a refusal is for policy or reputation, so that its destination must be slowed down. */
export function slowsDown(refusal: Refusal): boolean {
  return showsDistrust(classifyRefusal(refusal), refusal);
}

/** The same of a refusal that was classified, in a report say, where more than its codes was looked at. */
export function showsDistrust(bounceClass: BounceClass, { text }: Refusal): boolean {
  return CONSEQUENCES[bounceClass].stops === 'destination' && !GREYLISTING.test(text);
}
