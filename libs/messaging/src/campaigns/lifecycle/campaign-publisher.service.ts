import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Publisher } from '#platform';
import type { Campaign } from '../campaign.js';

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
  | 'completedAt'
>;

/** Publishes campaigns' changes of state, in the transaction that makes them. */
@Injectable()
export class CampaignPublisher {
  constructor(@Inject(Publisher) private readonly publisher: Publisher) {}

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
  const { estimatedRecipientCount, scheduledAt, completedAt } = rest;
  return { id, campaignKey, name, subject, status, estimatedRecipientCount, scheduledAt, completedAt };
}
