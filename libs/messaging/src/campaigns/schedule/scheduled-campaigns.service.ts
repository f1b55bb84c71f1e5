import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock, type ProjectScope } from '#kernel';
import { Database, LOGGER, type Transaction } from '#platform';
import type { Campaign } from '../campaign.js';
import { describeFailures } from '../campaign.errors.js';
import { CampaignAnalysisService } from '../analysis/campaign-analysis.service.js';
import { CampaignAnnouncements } from '../lifecycle/campaign-announcements.service.js';
import { CampaignRepository } from '../campaign.repository.js';
import { CampaignStarter } from '../lifecycle/campaign-starter.service.js';

/** A campaign whose time passed while everything was down is still sent, if it is no later than this. */
export const LATEST_START_MS = 24 * 60 * 60_000;

/** Has a scheduled campaign go out. */
@Injectable()
export class ScheduledCampaignsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignRepository) private readonly campaigns: CampaignRepository,
    @Inject(CampaignStarter) private readonly starter: CampaignStarter,
    @Inject(CampaignAnalysisService) private readonly analysis: CampaignAnalysisService,
    @Inject(CampaignAnnouncements) private readonly announcements: CampaignAnnouncements,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Queues the campaign, or fails it: it does not pass its checks, or its time is past by more than a day. Nothing
   * when it does not wait for its time any more, or another worker is at it.
   */
  async start(scope: ProjectScope, campaignId: string): Promise<void> {
    const waiting = await this.database.transaction(scope, (tx) =>
      this.campaigns.scheduled(scope, tx, campaignId),
    );
    if (waiting === null) return;
    await this.analysis.prepare(scope, waiting);
    const reason = await this.database.transaction(scope, async (tx) => {
      const campaign = await this.campaigns.lockScheduled(scope, tx, campaignId);
      const now = this.clock.now();
      if (campaign === null || campaign.scheduledAt === null || campaign.scheduledAt > now) return null;
      const obstacle = await this.#tryToStart(scope, tx, campaign, now);
      if (obstacle !== null) {
        campaign.fail(obstacle, now);
        await this.announcements.failed(scope, campaign, obstacle);
      }
      return obstacle;
    });
    if (reason !== null) this.logger.error({ campaignId, reason }, 'a scheduled campaign failed');
  }

  /** Null when it is queued, else why it cannot be. */
  async #tryToStart(
    scope: ProjectScope,
    tx: Transaction,
    campaign: Campaign,
    now: Date,
  ): Promise<string | null> {
    const late = now.getTime() - (campaign.scheduledAt?.getTime() ?? 0);
    if (late > LATEST_START_MS) return 'missed';
    const { status, checks } = await this.starter.start(scope, tx, campaign, now);
    return status === 'FAILED' ? describeFailures(checks) : null;
  }
}
