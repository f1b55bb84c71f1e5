import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { DomainUsage } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';

/** Tells whether campaigns are on their way, so that their sending domain must stay. */
@Injectable()
export class CampaignDomainUsageQuery implements DomainUsage {
  constructor(@Inject(Database) private readonly database: Database) {}

  isSending(scope: ProjectScope): Promise<boolean> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql`
        select from messaging.campaigns
        where environment_id = ${scope.environmentId} and status in ('QUEUED_FOR_SENDING', 'SENDING', 'PAUSED')
        limit 1
      `.execute(db);
      return rows.length > 0;
    });
  }
}
