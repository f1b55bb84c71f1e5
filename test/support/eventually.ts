import { setTimeout as delay } from 'node:timers/promises';

/** Asks again every 20 ms until `probe` gives something other than null, undefined or false, or throws at the deadline. */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  deadlineMs = 120_000,
): Promise<T> {
  const end = now() + deadlineMs;
  for (;;) {
    const found = await probe();
    if (found !== null && found !== undefined && found !== false) return found;
    if (now() > end) throw new Error(`Waited ${deadlineMs} ms in vain: ${what}.`);
    await delay(20);
  }
}

/** Not `performance`, which a test may have stopped. */
function now(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
