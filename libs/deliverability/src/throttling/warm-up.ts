/** Daily mails of a new domain, so that mailbox providers get to know it. */
const WARM_UP_SCHEDULE = {
  firstDay: 200,
  /** Factor from one day to the next. */
  growth: 1.5,
  /** No cap from then on. */
  days: 30,
} as const;

const DAY_MS = 24 * 3_600_000;

/** One of the first days of a domain, 24 hours each, counted from its verification. */
export interface WarmUpDay {
  /** 1 is the first. */
  readonly day: number;
  readonly startsAt: Date;
  readonly endsAt: Date;
  /** Mails that the domain may send on it. */
  readonly cap: number;
}

/** The warm-up day that `now` is in; null when the warm-up is over. A clock that lags is on the first day. */
export function warmUpDay(verifiedAt: Date, now: Date): WarmUpDay | null {
  const past = Math.max(0, Math.floor((now.getTime() - verifiedAt.getTime()) / DAY_MS));
  if (past >= WARM_UP_SCHEDULE.days) return null;
  const startsAt = new Date(verifiedAt.getTime() + past * DAY_MS);
  return {
    day: past + 1,
    startsAt,
    endsAt: new Date(startsAt.getTime() + DAY_MS),
    cap: capOf(past + 1),
  };
}

/** Days that a domain takes to send so many mails when it begins now: 1 if the day's cap is enough. */
export function warmUpDays(emails: number, verifiedAt: Date, now: Date): number {
  const first = warmUpDay(verifiedAt, now)?.day ?? WARM_UP_SCHEDULE.days + 1;
  let left = emails;
  for (let day = first; day <= WARM_UP_SCHEDULE.days; day += 1) {
    left -= capOf(day);
    if (left <= 0) return day - first + 1;
  }
  return WARM_UP_SCHEDULE.days - first + 2;
}

function capOf(day: number): number {
  return Math.floor(WARM_UP_SCHEDULE.firstDay * WARM_UP_SCHEDULE.growth ** (day - 1));
}
