import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Environment, ProjectScope } from '#kernel';
import { Database, present } from '#platform';

interface DueRow {
  readonly id: string;
  readonly tenant_id: number;
  readonly project_id: number;
  readonly environment_id: number;
  readonly environment: Environment;
}

/** A campaign whose time has come. */
export interface DueCampaign {
  readonly id: string;
  readonly scope: ProjectScope;
}

/** Finds campaigns by their schedule, over all projects. */
@Injectable()
export class ScheduledCampaignsQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** At most `limit`, the one that has waited longest first. */
  async due(limit: number): Promise<DueCampaign[]> {
    const isAny = sql`exists (select from messaging.campaigns where status = 'SCHEDULED' and scheduled_at <= ${present})`;
    if (!(await this.database.holds('campaigns.scheduled', isAny))) return [];
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<DueRow>`
        select c.id, e.* from (
          select id, environment_id, scheduled_at from messaging.campaigns
          where status = 'SCHEDULED' and scheduled_at <= ${present} order by scheduled_at limit ${limit}
        ) c cross join lateral access.find_environment(c.environment_id) e
        order by c.scheduled_at
      `.execute(db);
      return rows.map(({ id, tenant_id, project_id, environment_id, environment }) => ({
        id,
        scope: { tenantId: tenant_id, projectId: project_id, environmentId: environment_id, environment },
      }));
    });
  }
}
