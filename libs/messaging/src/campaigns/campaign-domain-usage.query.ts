import { Inject, Injectable } from '@nestjs/common';
import type { DomainUsage } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../messaging-tables.js';
import { UNDER_WAY } from './campaign-status.js';

/** Tells whether campaigns are being sent, so that their sending domain must stay. */
@Injectable()
export class CampaignDomainUsageQuery implements DomainUsage {
  constructor(@Inject(Database) private readonly database: Database) {}

  isSending(scope: ProjectScope): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const campaign = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.campaigns')
        .select('id')
        .where('environmentId', '=', scope.environmentId)
        .where('status', 'in', UNDER_WAY)
        .limit(1)
        .executeTakeFirst();
      return campaign !== undefined;
    });
  }
}
