import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { environmentScopes } from '#access';
import type { ProjectScope } from '#kernel';
import { Database, present } from '#platform';

/** A campaign whose time has come. */
export interface DueCampaign {
  readonly id: string;
  readonly scope: ProjectScope;
}

/** Finds campaigns by their schedule, over all projects. */
@Injectable()
export class ScheduledCampaignsQuery {
  constructor(private readonly database: Database) {}

  /** At most `limit`, the one that has waited longest first. */
  async due(limit: number): Promise<DueCampaign[]> {
    const isAny = sql`exists (select 1 from messaging.campaigns where status = 'SCHEDULED' and scheduled_at <= ${present})`;
    if (!(await this.database.holds(isAny))) return [];
    return this.database.system(async () => {
      const { rows } = await sql<ProjectScope & { readonly id: string }>`
        select c.id, e.* from (
          select id, environment_id, scheduled_at from messaging.campaigns
          where status = 'SCHEDULED' and scheduled_at <= ${present} order by scheduled_at limit ${limit}
        ) c join ${environmentScopes} e on e.environment_id = c.environment_id
        order by c.scheduled_at
      `.execute(this.database.tables());
      return rows.map(({ id, ...scope }) => ({ id, scope }));
    });
  }
}
