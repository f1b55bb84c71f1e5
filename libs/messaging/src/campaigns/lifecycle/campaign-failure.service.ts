import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock, type ProjectScope } from '#kernel';
import { Database, LOGGER } from '#platform';
import { CampaignAnnouncements } from './campaign-announcements.service.js';
import { CampaignRepository } from '../campaign.repository.js';
import { CampaignStopper } from './campaign-stopper.service.js';

/** Ends campaigns that cannot go on. */
@Injectable()
export class CampaignFailureService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignRepository) private readonly campaigns: CampaignRepository,
    @Inject(CampaignStopper) private readonly stopper: CampaignStopper,
    @Inject(CampaignAnnouncements) private readonly announcements: CampaignAnnouncements,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** FAILED, and why: in the log, and in the problem of the next `send`. Nothing when it has ended already. */
  async fail(scope: ProjectScope, campaignId: string, reason: string): Promise<void> {
    const failed = await this.database.transaction(scope, async (tx) => {
      const campaign = await this.campaigns.lockById(scope, tx, campaignId);
      const unbound = campaign?.fail(reason, this.clock.now()) ?? null;
      if (campaign === null || unbound === null) return false;
      await this.stopper.stop(scope, tx, campaign, unbound);
      await this.announcements.failed(scope, campaign, reason);
      return true;
    });
    if (failed) this.logger.error({ campaignId, reason }, 'a campaign failed');
  }
}
