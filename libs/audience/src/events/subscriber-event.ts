/** What a subscriber did outside of mail, by the client's own name for it; without a time it happened now. */
export interface ReportedEvent {
  readonly name: string;
  /** What JSON can say, at most 8 KB of it. */
  readonly properties?: Readonly<Record<string, unknown>> | undefined;
  readonly occurredAt?: Date | undefined;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** What the clock of a client may be ahead of ours. */
const AHEAD_MS = 5 * MINUTE_MS;
/** No rule looks further back: the longest duration is P730D. */
const KEPT_DAYS = 730;

/** What is wrong with the time at which an event is said to have happened, or null. */
export function occurrenceFault(occurredAt: Date, now: Date): string | null {
  if (occurredAt.getTime() > now.getTime() + AHEAD_MS) return 'is in the future';
  if (occurredAt.getTime() < now.getTime() - KEPT_DAYS * DAY_MS) return `is more than ${KEPT_DAYS} days ago`;
  return null;
}
