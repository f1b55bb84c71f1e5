import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, environmentOf, present } from '#platform';
import {
  CampaignPublisher,
  type PublishedCampaign,
} from '../../campaigns/lifecycle/campaign-publisher.service.js';
import { isOpenAnywhere } from '../../deliveries/campaign-front.query.js';
import { type CampaignUnderWay, isOver } from './delivery-claims.query.js';

/** Ends campaigns: when all recipients are queued and no delivery is open, never by a counter. */
@Injectable()
export class CampaignFinishQuery {
  constructor(
    private readonly database: Database,
    private readonly publisher: CampaignPublisher,
  ) {}

  finish({ scope, id }: Pick<CampaignUnderWay, 'scope' | 'id'>): Promise<void> {
    return this.database.transaction(scope, async () => {
      const isDone = sql`c.id = ${id} and c.environment_id = ${environmentOf(scope)} and ${isOver}`;
      const over = await sql`select 1 from messaging.campaigns c where ${isDone}`.execute(
        this.database.tables(),
      );
      if (over.rows.length === 0 || (await this.#hasLeftAny(isDone))) return;
      // The time of its end is read after its last mail was seen to have ended, so that it never comes before it.
      const { rows } = await sql<PublishedCampaign>`
        update messaging.campaigns c set status = 'SENT', completed_at = ${present}, updated_at = ${present}, front_at = 'infinity'
        where ${isDone}
        returning c.id, c.campaign_key, c.name, c.subject, c.status, c.estimated_recipient_count, c.scheduled_at, c.scheduled_at_local,
          c.completed_at
      `.execute(this.database.tables());
      for (const sent of rows) await this.publisher.publish(scope, 'campaign.sent', sent);
    });
  }

  /**
   * Looks at all deliveries, once a campaign: what a wrong front had left behind would never be sent. Then it is looked for from the
   * beginning.
   */
  async #hasLeftAny(isDone: RawBuilder<unknown>): Promise<boolean> {
    const { numAffectedRows = 0n } = await sql`
      update messaging.campaigns c set front_at = '-infinity' where ${isDone} and ${isOpenAnywhere}
    `.execute(this.database.tables());
    return numAffectedRows > 0n;
  }
}
