import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Announcer } from '#platform';
import type { Campaign } from '../campaign.js';

/** What is told of a campaign. */
export type ToldCampaign = Pick<
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

/** Tells the world outside how campaigns go, each step in the transaction in which it is taken. */
@Injectable()
export class CampaignAnnouncements {
  constructor(@Inject(Announcer) private readonly announcer: Announcer) {}

  async tell(
    scope: ProjectScope,
    type: 'campaign.scheduled' | 'campaign.queued' | 'campaign.sent',
    campaign: ToldCampaign,
  ): Promise<void> {
    if (this.announcer.hears(scope, type))
      await this.announcer.announce(scope, { type, data: told(campaign) });
  }

  async failed(scope: ProjectScope, campaign: ToldCampaign, failureReason: string): Promise<void> {
    const data = { ...told(campaign), failureReason };
    await this.announcer.announce(scope, { type: 'campaign.failed', data });
  }
}

function told({ id, campaignKey, name, subject, status, ...rest }: ToldCampaign) {
  const { estimatedRecipientCount, scheduledAt, completedAt } = rest;
  return { id, campaignKey, name, subject, status, estimatedRecipientCount, scheduledAt, completedAt };
}
