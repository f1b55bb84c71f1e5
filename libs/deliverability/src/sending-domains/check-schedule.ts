const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** After this long without success a domain is given up, until someone asks again. */
export const VERIFICATION_PERIOD_MS = 72 * HOUR_MS;
/** Between the checks of a verified domain. */
export const DAILY_MS = 24 * HOUR_MS;

const EARLY_MS = [1, 5, 15, 60].map((minutes) => minutes * MINUTE_MS);
const THEN_EVERY_MS = 6 * HOUR_MS;

/** The check after `now` of what began at `startedAt`: 1, 5, 15 min, 1 h, then 6-hourly and once more at 72 h. */
export function nextEarlyCheck(startedAt: Date, now: Date): Date {
  const begin = startedAt.getTime();
  const elapsed = now.getTime() - begin;
  const early = EARLY_MS.find((step) => step > elapsed);
  if (early !== undefined) return new Date(begin + early);
  const [lastEarly = 0] = EARLY_MS.slice(-1);
  const round = Math.floor((elapsed - lastEarly) / THEN_EVERY_MS) + 1;
  const next = lastEarly + round * THEN_EVERY_MS;
  const passesTheEnd = elapsed < VERIFICATION_PERIOD_MS && next > VERIFICATION_PERIOD_MS;
  return new Date(begin + (passesTheEnd ? VERIFICATION_PERIOD_MS : next));
}
