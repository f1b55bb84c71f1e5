import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Campaign } from '../campaign.js';
import { CampaignAnalysisService, type CampaignAnalysis } from './campaign-analysis.service.js';
import { CampaignRepository } from '../campaign.repository.js';

/** Shows an author how a campaign would do if it were sent now. */
@Injectable()
export class PreSendAnalysisService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignRepository) private readonly campaigns: CampaignRepository,
    @Inject(CampaignAnalysisService) private readonly analysis: CampaignAnalysisService,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** The analysis; a campaign that can still be changed keeps its verdict and who would receive it. */
  async of(scope: ProjectScope, campaignKey: string): Promise<CampaignAnalysis> {
    const campaign = await this.database.transaction(scope, (tx) =>
      this.campaigns.named(scope, tx, campaignKey),
    );
    const now = this.clock.now();
    const analysis = await this.analysis.analyse(scope, campaign, now);
    if (campaign.allows('change')) await this.#keep(scope, campaign, analysis, now);
    return analysis;
  }

  /** Unless it was changed while it was looked at: `updated_at` tells. */
  async #keep(
    scope: ProjectScope,
    { id, updatedAt }: Campaign,
    { score, status, recipients }: CampaignAnalysis,
    now: Date,
  ) {
    await this.database.transaction(scope, ({ db }) =>
      sql`
        update messaging.campaigns
        set pre_send_score = ${score}, pre_send_status = ${status}, estimated_recipient_count = ${recipients},
          estimated_at = ${now}
        where id = ${id} and environment_id = ${scope.environmentId} and updated_at = ${updatedAt}
      `.execute(db),
    );
  }
}
