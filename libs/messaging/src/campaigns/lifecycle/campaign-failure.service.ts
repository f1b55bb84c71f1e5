import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import type { ProjectScope } from '#kernel';
import { Database, LOGGER } from '#platform';
import { CampaignRepository } from '../campaign.repository.js';
import { CampaignStopper } from './campaign-stopper.service.js';

/** Ends campaigns that cannot go on. */
@Injectable()
export class CampaignFailureService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly stopper: CampaignStopper,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** FAILED, and why: in the log, and in the problem of the next `send`. Does nothing when it has ended already. */
  async fail(scope: ProjectScope, campaignId: string, reason: string): Promise<void> {
    const failed = await this.database.transaction(scope, async () => {
      const campaign = await this.campaigns.lockById(scope, campaignId);
      return campaign !== null && this.stopper.fail(scope, campaign, reason);
    });
    if (failed) this.logger.error({ campaignId, reason }, 'a campaign failed');
  }
}
