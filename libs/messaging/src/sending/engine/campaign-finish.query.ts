import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, environmentOf, present } from '#platform';
import {
  CampaignPublisher,
  type PublishedCampaign,
} from '../../campaigns/lifecycle/campaign-publisher.service.js';
import { type CampaignUnderWay, isOver } from './delivery-claims.query.js';

/** Ends campaigns: when all recipients are queued and no delivery is open, never by a counter. */
@Injectable()
export class CampaignFinishQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignPublisher) private readonly publisher: CampaignPublisher,
  ) {}

  finish({ scope, id }: Pick<CampaignUnderWay, 'scope' | 'id'>): Promise<void> {
    return this.database.transaction(scope, async () => {
      const isDone = sql`c.id = ${id} and c.environment_id = ${environmentOf(scope)} and ${isOver}`;
      const over = await sql`select 1 from messaging.campaigns c where ${isDone}`.execute(
        this.database.tables(),
      );
      if (over.rows.length === 0) return;
      // The time of its end is read after its last mail was seen to have ended, so that it never comes before it.
      const { rows } = await sql<PublishedCampaign>`
        update messaging.campaigns c set status = 'SENT', completed_at = ${present}, updated_at = ${present}
        where ${isDone}
        returning c.id, c.campaign_key, c.name, c.subject, c.status, c.estimated_recipient_count, c.scheduled_at, c.scheduled_at_local,
          c.completed_at
      `.execute(this.database.tables());
      for (const sent of rows) await this.publisher.publish(scope, 'campaign.sent', sent);
    });
  }
}
