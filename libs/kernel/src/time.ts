/** The time. Injected, so that tests move it instead of sleeping. */
export abstract class Clock {
  abstract now(): Date;
}

/** The value of `work`, or that of `late` where `work` takes longer than `limitMs`: it is not stopped. `late` may throw. */
export async function withTimeout<Value, Late>(
  work: Promise<Value>,
  limitMs: number,
  late: () => Late,
): Promise<Value | Late> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  try {
    return await Promise.race([work, timeout.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}

/** Milliseconds to wait after the `failures`th failure: `firstMs`, then twice as long each time, up to `longestMs`. */
export function doublingBackoff(failures: number, firstMs: number, longestMs: number): number {
  return Math.min(firstMs * 2 ** (failures - 1), longestMs);
}

/**
 * Time of the try after the `failures`th failure, by its wait in `waitsMs`; null after more. `spread` is the share by which a
 * wait is longer or shorter, so that not all come at once.
 */
export function nextTry(waitsMs: readonly number[], failures: number, now: Date, spread = 0): Date | null {
  const wait = waitsMs[failures - 1];
  if (wait === undefined) return null;
  return new Date(now.getTime() + wait * (1 - spread + 2 * spread * Math.random()));
}
