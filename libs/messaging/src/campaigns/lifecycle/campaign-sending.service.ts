import { Inject, Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Campaign } from '../campaign.js';
import { CampaignAnalysisService } from '../analysis/campaign-analysis.service.js';
import { CampaignAnnouncements } from './campaign-announcements.service.js';
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
    @Inject(CampaignAnnouncements) private readonly announcements: CampaignAnnouncements,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Queues the campaign. Of two that call at once one succeeds; the other gets `InvalidStateError`.
   * `PreSendRejectedError` tells what is wrong, and the campaign keeps the verdict.
   */
  async send(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    await this.#prepare(scope, campaignKey);
    const { campaign, analysis } = await this.database.transaction(scope, async (tx) => {
      const locked = await this.campaigns.lock(scope, tx, campaignKey);
      return { campaign: locked, analysis: await this.starter.start(scope, tx, locked, this.clock.now()) };
    });
    if (analysis.status === 'FAILED') throw new PreSendRejectedError(analysis.checks, campaign.failureReason);
    return campaign;
  }

  /**
   * Has the campaign go out at its `scheduledAt`. `InvalidStateError`, `ScheduleMissingError` or
   * `PreSendRejectedError`; it is checked once more when its time has come.
   */
  async schedule(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    await this.#prepare(scope, campaignKey);
    const { campaign, analysis } = await this.database.transaction(scope, async (tx) => {
      const locked = await this.campaigns.lock(scope, tx, campaignKey);
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

  async #prepare(scope: ProjectScope, campaignKey: string): Promise<void> {
    const campaign = await this.database.transaction(scope, (tx) =>
      this.campaigns.named(scope, tx, campaignKey),
    );
    if (campaign.allows('change')) await this.analysis.prepare(scope, campaign);
  }
}
