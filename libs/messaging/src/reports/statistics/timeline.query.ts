import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { campaignNamed } from '../../campaigns/campaign.repository.js';

export const TIMELINE_INTERVALS = ['hour', 'day', 'minute'] as const;
export type TimelineInterval = (typeof TIMELINE_INTERVALS)[number];

/** Events in one bucket, which begins at `timestamp`. */
export interface TimelinePoint {
  readonly timestamp: Date;
  readonly sent: number;
  readonly delivered: number;
  readonly opened: number;
  readonly clicked: number;
  readonly bounced: number;
}

const LENGTH_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** The longest timelines: two days of minutes, 90 days of hours, three years of days. */
export const MOST_POINTS = { minute: 2 * 24 * 60, hour: 90 * 24, day: 3 * 366 } as const;

/** Reads a campaign's course over time. */
@Injectable()
export class TimelineQuery {
  constructor(private readonly database: Database) {}

  /** From the first bucket with anything in it to the last; empty before sending. `NotFoundError` without such a campaign. */
  async of(scope: ProjectScope, campaignKey: string, interval: TimelineInterval): Promise<TimelinePoint[]> {
    const points = await this.database.transaction(scope, async () => {
      const { id } = await campaignNamed(this.database.tables(), scope, campaignKey)
        .select('id')
        .executeTakeFirstOrThrow(() => new NotFoundError());
      const { rows } = await sql<TimelinePoint>`
        select date_trunc(${interval}, minute, 'UTC') as timestamp, sum(sent)::bigint as sent,
          sum(delivered)::bigint as delivered, sum(opened)::bigint as opened, sum(clicked)::bigint as clicked,
          sum(bounced)::bigint as bounced
        from messaging.campaign_minutes
        where environment_id = ${scope.environmentId} and campaign_id = ${id}
        group by 1
        having sum(sent) <> 0 or sum(delivered) <> 0 or sum(opened) <> 0 or sum(clicked) <> 0 or sum(bounced) <> 0
        order by 1 limit ${MOST_POINTS[interval]}
      `.execute(this.database.tables());
      return rows;
    });
    return filledTimeline(points, interval);
  }
}

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
    const nothing = { timestamp: new Date(at), sent: 0, delivered: 0, opened: 0, clicked: 0, bounced: 0 };
    return known.get(at) ?? nothing;
  });
}
