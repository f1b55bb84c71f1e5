import { Inject, Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Campaign } from '../campaign.js';
import { CampaignAnalysisService } from '../analysis/campaign-analysis.service.js';
import { PreSendRejectedError } from '../campaign.errors.js';
import { CampaignRepository } from '../campaign.repository.js';
import { CampaignAnnouncements } from '../lifecycle/campaign-announcements.service.js';

/** `schedule`: lets authors have a campaign go out at its time. */
@Injectable()
export class CampaignSchedulingService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignRepository) private readonly campaigns: CampaignRepository,
    @Inject(CampaignAnalysisService) private readonly analysis: CampaignAnalysisService,
    @Inject(CampaignAnnouncements) private readonly announcements: CampaignAnnouncements,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Has the campaign go out at its `scheduledAt`. `InvalidStateError`, `ScheduleMissingError` or
   * `PreSendRejectedError`; it is checked once more when its time has come.
   */
  async schedule(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    await this.analysis.prepare(scope, await this.campaigns.named(scope, campaignKey));
    const { campaign, analysis } = await this.database.transaction(scope, async () => {
      const locked = await this.campaigns.lock(scope, campaignKey);
      const now = this.clock.now();
      locked.refuseUnlessSchedulable(now);
      const found = await this.analysis.analyse(scope, locked, now);
      locked.judge(found, now);
      if (found.status !== 'FAILED') {
        locked.schedule(now);
        await this.announcements.tell(scope, 'campaign.scheduled', locked);
      }
      return { campaign: locked, analysis: found };
    });
    if (analysis.status === 'FAILED') throw new PreSendRejectedError(analysis.checks);
    return campaign;
  }
}
