export const TIMELINE_INTERVALS = ['hour', 'day', 'minute'] as const;
export type TimelineInterval = (typeof TIMELINE_INTERVALS)[number];

/** What happened in one bucket, which begins at `timestamp`. */
export interface TimelinePoint {
  readonly timestamp: Date;
  readonly sent: number;
  readonly delivered: number;
  readonly opened: number;
  readonly clicked: number;
  readonly bounced: number;
}

const LENGTH_MS: Readonly<Record<TimelineInterval, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** The longest timelines: two days of minutes, 90 days of hours, three years of days. */
export const MOST_POINTS: Readonly<Record<TimelineInterval, number>> = {
  minute: 2 * 24 * 60,
  hour: 90 * 24,
  day: 3 * 366,
};

/** Fills the gaps with zeros, from the first bucket to the last; both must begin where a bucket does, in UTC. */
export function filledTimeline(
  points: readonly TimelinePoint[],
  interval: TimelineInterval,
): TimelinePoint[] {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return [];
  const known = new Map(points.map((point) => [point.timestamp.getTime(), point]));
  const begin = first.timestamp.getTime();
  const length = LENGTH_MS[interval];
  const buckets = Math.min((last.timestamp.getTime() - begin) / length + 1, MOST_POINTS[interval]);
  return Array.from({ length: buckets }, (_, index) => {
    const at = begin + index * length;
    return known.get(at) ?? nothingAt(new Date(at));
  });
}

function nothingAt(timestamp: Date): TimelinePoint {
  return { timestamp, sent: 0, delivered: 0, opened: 0, clicked: 0, bounced: 0 };
}
