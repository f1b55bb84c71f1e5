/** An ISO 8601 duration in rules. Years and months are calendar years and months. */
export interface RuleDuration {
  readonly months: number;
  readonly days: number;
  readonly milliseconds: number;
}

const MAX_DAYS = 730;
const DAY_MS = 86_400_000;
/** ISO 8601-1 §5.5.2.3, whole numbers, with weeks beside the other units. */
const DURATION =
  /^P(?=\d|T\d)(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?$/;

/** Reads `P30D`, `P1Y2M`, `PT12H`; at most P730D, with a year of 365 days and a month of 30. */
export function parseDuration(
  text: string,
): { readonly duration: RuleDuration } | { readonly fault: string } {
  const parts = DURATION.exec(text);
  if (parts === null) return { fault: 'must be an ISO 8601 duration such as P30D' };
  const [years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = parts
    .slice(1)
    .map((part) => Number(part ?? 0));
  const milliseconds = ((hours * 60 + minutes) * 60 + seconds) * 1_000;
  const total = years * 365 + months * 30 + weeks * 7 + days + milliseconds / DAY_MS;
  if (total > MAX_DAYS) return { fault: `must be at most P${MAX_DAYS}D` };
  if (total === 0) return { fault: 'must be longer than zero' };
  return { duration: { months: years * 12 + months, days: weeks * 7 + days, milliseconds } };
}

/** Subtracts a duration, in UTC. */
export function before(moment: Date, duration: RuleDuration): Date {
  return shifted(moment, duration, -1);
}

/** Adds a duration, in UTC. */
export function after(moment: Date, duration: RuleDuration): Date {
  return shifted(moment, duration, 1);
}

/** Adds months first, clamped to the last day of the month (31 March less a month: 28 February), then the rest. */
function shifted(moment: Date, { months, days, milliseconds }: RuleDuration, sign: 1 | -1): Date {
  const result = new Date(moment);
  const day = result.getUTCDate();
  result.setUTCDate(1);
  result.setUTCMonth(result.getUTCMonth() + sign * months);
  result.setUTCDate(Math.min(day, daysInMonth(result)));
  return new Date(result.getTime() + sign * (days * DAY_MS + milliseconds));
}

function daysInMonth(moment: Date): number {
  return new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth() + 1, 0)).getUTCDate();
}
