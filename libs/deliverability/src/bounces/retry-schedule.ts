const MINUTE_MS = 60_000;
const DELAYS_MINUTES = [5, 15, 30, 60, 120, 240];
const JITTER = 0.2;

/** How long a message is tried, counted from the moment it was due first (RFC 5321 §4.5.4.1 asks for days). */
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
