import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Announcer } from '#platform';
import type { Campaign } from '../campaign.js';

/** The fields of a campaign that its webhooks carry. */
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

/** Announces campaigns' changes of state to webhooks, in the transaction that makes them. */
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
