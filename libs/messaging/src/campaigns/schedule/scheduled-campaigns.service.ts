import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Campaign } from '../campaign.js';
import { lastTimeOf } from '../campaign-times.js';
import { describeFailures } from '../campaign.errors.js';
import { CampaignRepository } from '../campaign.repository.js';
import { CampaignSendingService } from '../lifecycle/campaign-sending.service.js';
import { CampaignStopper } from '../lifecycle/campaign-stopper.service.js';

/** A campaign whose time passed while everything was down is still sent, if it is no later than this for the last recipient. */
export const LATEST_START_MS = 24 * 60 * 60_000;

/** Has a scheduled campaign go out. */
@Injectable()
export class ScheduledCampaignsService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly sending: CampaignSendingService,
    private readonly stopper: CampaignStopper,
    private readonly clock: Clock,
  ) {}

  /**
   * Queues the campaign, or fails it when it does not pass its checks or is more than a day late; resolves to why it
   * failed. Does nothing when it does not wait for its time any more, or another worker has it.
   */
  start(scope: ProjectScope, campaignId: string): Promise<string | null> {
    return this.database.transaction(scope, async () => {
      const campaign = await this.campaigns.lockScheduled(scope, campaignId);
      const now = this.clock.now();
      if (campaign === null || campaign.scheduledAt === null || campaign.scheduledAt > now) return null;
      const last = lastTimeOf(campaign) ?? campaign.scheduledAt;
      const isMissed = now.getTime() - last.getTime() > LATEST_START_MS;
      const obstacle = isMissed ? 'missed' : await this.#tryToStart(scope, campaign, now);
      if (obstacle !== null) await this.stopper.fail(scope, campaign, obstacle);
      return obstacle;
    });
  }

  /** Null when it is queued, else why it cannot be. */
  async #tryToStart(scope: ProjectScope, campaign: Campaign, now: Date): Promise<string | null> {
    const { status, checks } = await this.sending.start(scope, campaign, now);
    return status === 'FAILED' ? describeFailures(checks) : null;
  }
}
