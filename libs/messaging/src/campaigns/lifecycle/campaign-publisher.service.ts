import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database, publish, Publisher } from '#platform';
import type { Campaign } from '../campaign.js';
import { CampaignQueued } from '../campaign.events.js';

/** The fields of a campaign that its webhooks carry. */
export type PublishedCampaign = Pick<
  Campaign,
  | 'id'
  | 'campaignKey'
  | 'name'
  | 'subject'
  | 'status'
  | 'estimatedRecipientCount'
  | 'scheduledAt'
  | 'scheduledAtLocal'
  | 'completedAt'
>;

/** Publishes campaigns' changes of state, in the transaction that makes them. */
@Injectable()
export class CampaignPublisher {
  constructor(
    private readonly database: Database,
    private readonly publisher: Publisher,
  ) {}

  /** Has the worker list the recipients, too. */
  async queued(scope: ProjectScope, campaign: Campaign): Promise<void> {
    await publish(this.database, scope, CampaignQueued({ campaignId: campaign.id }));
    await this.publish(scope, 'campaign.queued', campaign);
  }

  async publish(
    scope: ProjectScope,
    type: 'campaign.scheduled' | 'campaign.queued' | 'campaign.sent',
    campaign: PublishedCampaign,
  ): Promise<void> {
    if (this.publisher.hasListeners(scope, type))
      await this.publisher.publish(scope, { type, data: dataOf(campaign) });
  }

  async failed(scope: ProjectScope, campaign: PublishedCampaign, failureReason: string): Promise<void> {
    const data = { ...dataOf(campaign), failureReason };
    await this.publisher.publish(scope, { type: 'campaign.failed', data });
  }
}

function dataOf({ id, campaignKey, name, subject, status, ...rest }: PublishedCampaign) {
  const { estimatedRecipientCount, scheduledAt, scheduledAtLocal, completedAt } = rest;
  const times = { scheduledAt, scheduledAtLocal, completedAt };
  return { id, campaignKey, name, subject, status, estimatedRecipientCount, ...times };
}
