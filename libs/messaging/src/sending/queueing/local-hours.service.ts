import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { ProjectsQuery } from '#access';
import { type AudienceChunk, RecipientsQuery } from '#audience';
import { isTimeZone, momentOfLocalTime, type ProjectScope } from '#kernel';
import type { ExpandingCampaign } from './expanding-campaign.query.js';

/** When recipients get a campaign that is sent at their own hour. */
@Injectable()
export class LocalHours {
  constructor(
    private readonly projects: ProjectsQuery,
    private readonly recipients: RecipientsQuery,
  ) {}

  /**
   * Says in SQL when each of the `page` of recipients gets the campaign: when it is that time where they are, or in the
   * project's time zone where that is not known. The moments are Node's, which knows zones that PostgreSQL may not know.
   */
  async of(
    scope: ProjectScope,
    campaign: ExpandingCampaign,
    chunk: AudienceChunk,
  ): Promise<RawBuilder<Date>> {
    const { scheduledAtLocal: local, topicIds, audienceAt } = campaign;
    if (local === null) return sql<Date>`${audienceAt}::timestamptz`;
    const zones = await this.recipients.timeZones(scope, topicIds, audienceAt, chunk);
    const moments = zones.filter(isTimeZone).map((zone) => [zone, momentOfLocalTime(local, zone)]);
    const project = await this.projects.ofScope(scope);
    const otherwise = momentOfLocalTime(local, project?.timeZone ?? 'UTC');
    return sql<Date>`
      coalesce((${JSON.stringify(Object.fromEntries(moments))}::jsonb ->> page.time_zone)::timestamptz, ${otherwise}::timestamptz)
    `;
  }
}
