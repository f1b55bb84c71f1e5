import { nextTry } from '#kernel';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Waits before the second and every later try: 3 days and 3 hours together (Standard Webhooks, "Retry schedule"). */
const WAITS_MS = [
  5_000,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

const SPREAD = 0.1;

/** When the next try is due after `attempts` that failed, ± 10 % so that not all come at once; null when it was the last. */
export const nextAttemptAt = (attempts: number, now: Date) => nextTry(WAITS_MS, attempts, now, SPREAD);
