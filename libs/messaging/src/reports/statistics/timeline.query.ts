import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { campaignNamed } from '../../campaigns/campaign.repository.js';
import { filledTimeline, MOST_POINTS, type TimelineInterval, type TimelinePoint } from './timeline.js';

/** What happened to a campaign's mails over time. */
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
        select date_trunc(${interval}, minute, 'UTC') as timestamp, sum(sent)::bigint as sent, sum(delivered)::bigint as delivered,
          sum(opened)::bigint as opened, sum(clicked)::bigint as clicked, sum(bounced)::bigint as bounced
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
