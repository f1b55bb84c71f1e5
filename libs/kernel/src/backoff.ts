/** Milliseconds to wait after so many failures, the last one included: `firstMs`, then twice as long each time, up to `longestMs`. */
export function doublingBackoff(failures: number, firstMs: number, longestMs: number): number {
  return Math.min(firstMs * 2 ** (failures - 1), longestMs);
}

/**
 * When to try again after so many failures, the last one included: `waitsMs` has the wait after each; null after more.
 * `spread` is the share by which a wait is longer or shorter, so that not all come at once.
 */
export function nextTry(waitsMs: readonly number[], failures: number, now: Date, spread = 0): Date | null {
  const wait = waitsMs[failures - 1];
  if (wait === undefined) return null;
  return new Date(now.getTime() + wait * (1 - spread + 2 * spread * Math.random()));
}
