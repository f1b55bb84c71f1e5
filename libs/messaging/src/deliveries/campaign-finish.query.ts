import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database } from '#platform';
import { CampaignAnnouncements, type ToldCampaign } from '../campaigns/campaign-announcements.service.js';
import type { CampaignUnderWay } from './delivery-claims.query.js';

/** Ends campaigns: when all recipients are written down and no delivery is open, never by a counter. */
@Injectable()
export class CampaignFinishQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignAnnouncements) private readonly announcements: CampaignAnnouncements,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** True when this call ended the campaign. */
  finish({ scope, id, queuedOn }: CampaignUnderWay): Promise<boolean> {
    const isOver = sql`
      c.id = ${id} and c.status = 'SENDING' and c.expanded_at is not null and c.retry_from is null
      and not exists (
        select from messaging.deliveries d
        where d.source_id = c.id and d.kind = 'CAMPAIGN' and d.queued_on = ${queuedOn}::date and d.finished_at is null
      )
    `;
    return this.database.transaction(scope, async ({ db }) => {
      const over = await sql`select from messaging.campaigns c where ${isOver}`.execute(db);
      if (over.rows.length === 0) return false;
      // The time of its end is read after its last mail was seen to have ended, so that it never comes before it.
      const now = this.clock.now();
      const { rows } = await sql<ToldCampaign>`
        update messaging.campaigns c set status = 'SENT', completed_at = ${now}, updated_at = ${now}
        where ${isOver}
        returning c.id, c.campaign_key as "campaignKey", c.name, c.subject, c.status,
          c.estimated_recipient_count as "estimatedRecipientCount", c.scheduled_at as "scheduledAt",
          c.completed_at as "completedAt"
      `.execute(db);
      const [sent] = rows;
      if (sent === undefined) return false;
      await this.announcements.tell(scope, 'campaign.sent', sent);
      return true;
    });
  }
}
