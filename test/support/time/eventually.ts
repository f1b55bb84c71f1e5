import { setTimeout as delay } from 'node:timers/promises';

/** Between two questions, in ms: what takes long is asked seldom, since each costs the programs what they have to do. */
const SHORTEST = 20;
const LONGEST = 200;

/**
 * Asks again until `probe` gives something other than null, undefined or false, or throws at the deadline. A function says what was seen
 * by then.
 */
export async function eventually<T>(
  what: string | (() => string),
  probe: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  deadlineMs = 120_000,
): Promise<T> {
  const begin = now();
  for (;;) {
    const found = await probe();
    if (found !== null && found !== undefined && found !== false) return found;
    const waited = now() - begin;
    if (waited > deadlineMs)
      throw new Error(`Waited ${deadlineMs} ms in vain: ${typeof what === 'string' ? what : what()}.`);
    await delay(Math.min(SHORTEST + waited / 10, LONGEST));
  }
}

/** Not `performance`, which a test may have stopped. */
function now(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
