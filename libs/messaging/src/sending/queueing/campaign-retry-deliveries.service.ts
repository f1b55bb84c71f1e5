import { Injectable } from '@nestjs/common';
import { EmailQuotaService } from '#billing';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { CampaignRepository } from '../../campaigns/campaign.repository.js';
import { wakeSenders } from '../../deliveries/deliveries.channel.js';
import { FailedDeliveriesQuery } from '../../campaigns/lifecycle/failed-deliveries.query.js';

/** The worker's part of `retry-failed`. */
@Injectable()
export class CampaignRetryDeliveriesService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly failed: FailedDeliveriesQuery,
    private readonly quota: EmailQuotaService,
  ) {}

  /** Puts the deliveries back, a chunk a transaction; it can be killed anywhere and goes on. */
  async putBack(scope: ProjectScope, campaignId: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.#putBackChunk(scope, campaignId)));
  }

  /** True while there is more. With the last one the campaign may be finished. */
  #putBackChunk(scope: ProjectScope, campaignId: string): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const campaign = await this.campaigns.lockById(scope, campaignId);
      if (campaign === null || campaign.retryFrom === null) return false;
      const { usagePeriod } = campaign;
      const count = await this.failed.putBack(scope, campaign, campaign.retryFrom);
      if (usagePeriod !== null) campaign.retryEmails = Math.max(0, campaign.retryEmails - count);
      if (count === 0) {
        if (usagePeriod !== null)
          await this.quota.settle(scope, usagePeriod, { used: 0, released: campaign.retryEmails });
        campaign.retryEmails = 0;
        campaign.retryFrom = null;
      }
      wakeSenders(this.database);
      return count > 0;
    });
  }
}
