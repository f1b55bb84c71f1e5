/** An event that a client reports about a subscriber, under the client's own name; without a time it happened now. */
export interface ReportedEvent {
  readonly name: string;
  /** At most 8 KB of JSON. */
  readonly properties?: Readonly<Record<string, unknown>> | undefined;
  readonly occurredAt?: Date | undefined;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** How far the clock of a client may be ahead of ours. */
const AHEAD_MS = 5 * MINUTE_MS;
/** No rule looks further back: the longest duration is P730D. */
const KEPT_DAYS = 730;

/** The error in the time of an event, or null. */
export function occurrenceFault(occurredAt: Date, now: Date): string | null {
  if (occurredAt.getTime() > now.getTime() + AHEAD_MS) return 'must not be in the future';
  if (occurredAt.getTime() < now.getTime() - KEPT_DAYS * DAY_MS)
    return `must not be more than ${KEPT_DAYS} days ago`;
  return null;
}
