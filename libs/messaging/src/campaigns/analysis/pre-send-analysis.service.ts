import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Campaign } from '../campaign.js';
import { CampaignAnalysisService, type CampaignAnalysis } from './campaign-analysis.service.js';
import { CampaignRepository } from '../campaign.repository.js';

/** Shows an author how a campaign would do if it were sent now. */
@Injectable()
export class PreSendAnalysisService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly analysis: CampaignAnalysisService,
    private readonly clock: Clock,
  ) {}

  /** The analysis; a campaign that can still be changed keeps its verdict and who would receive it. */
  async of(scope: ProjectScope, campaignKey: string): Promise<CampaignAnalysis> {
    const campaign = await this.campaigns.named(scope, campaignKey);
    const now = this.clock.now();
    const analysis = await this.analysis.analyse(scope, campaign, now);
    if (campaign.allows('change')) await this.#keep(scope, campaign, analysis, now);
    return analysis;
  }

  /** Unless an author has changed it meanwhile. */
  #keep(scope: ProjectScope, { id, updatedAt }: Campaign, analysis: CampaignAnalysis, now: Date) {
    return this.database.transaction(scope, async () => {
      const campaign = await this.campaigns.lockById(scope, id);
      if (campaign?.updatedAt.getTime() === updatedAt.getTime()) campaign.judge(analysis, now);
    });
  }
}
