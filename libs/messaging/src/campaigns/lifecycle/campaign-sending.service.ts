import { Inject, Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Campaign } from '../campaign.js';
import { type CampaignAnalysis, CampaignAnalysisService } from '../analysis/campaign-analysis.service.js';
import { PreSendRejectedError } from '../campaign.errors.js';
import { CampaignRepository } from '../campaign.repository.js';
import { CampaignStarter } from './campaign-starter.service.js';

/** `send` and `schedule`: what an author does to have a campaign go out. */
@Injectable()
export class CampaignSendingService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignRepository) private readonly campaigns: CampaignRepository,
    @Inject(CampaignStarter) private readonly starter: CampaignStarter,
    @Inject(CampaignAnalysisService) private readonly analysis: CampaignAnalysisService,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Queues the campaign. Of two that call at once one succeeds; the other gets `InvalidStateError`.
   * `PreSendRejectedError` tells what is wrong, and the campaign keeps the verdict.
   */
  send(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#checked(scope, campaignKey, (campaign, now) => this.starter.start(scope, campaign, now));
  }

  /** Has the campaign go out at its `scheduledAt`. Throws as `send` does, and `ScheduleMissingError`. */
  schedule(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#checked(scope, campaignKey, (campaign, now) => this.starter.schedule(scope, campaign, now));
  }

  async #checked(
    scope: ProjectScope,
    campaignKey: string,
    check: (campaign: Campaign, now: Date) => Promise<CampaignAnalysis>,
  ): Promise<Campaign> {
    await this.analysis.prepare(scope, await this.campaigns.named(scope, campaignKey));
    const { campaign, analysis } = await this.database.transaction(scope, async () => {
      const locked = await this.campaigns.lock(scope, campaignKey);
      return { campaign: locked, analysis: await check(locked, this.clock.now()) };
    });
    if (analysis.status === 'FAILED') throw new PreSendRejectedError(analysis.checks, campaign.failureReason);
    return campaign;
  }
}
