import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { logFailure, LOGGER, Loop } from '#platform';
import { CampaignAnalysisService } from '../analysis/campaign-analysis.service.js';
import { CampaignRepository } from '../campaign.repository.js';
import { ScheduledCampaignsService } from './scheduled-campaigns.service.js';
import { type DueCampaign, ScheduledCampaignsQuery } from './scheduled-campaigns.query.js';

/** How long a due campaign waits for the next look, at most. */
const POLL_MS = 500;
const BATCH = 100;

/**
 * Starts campaigns when their time has come. Every worker runs one; the row's lock lets one of them start each
 * campaign. The table is asked, not a timer, so that one whose time passed while everything was down is found.
 */
@Injectable()
export class CampaignScheduler {
  readonly #loop: Loop;

  constructor(
    private readonly scheduled: ScheduledCampaignsQuery,
    private readonly campaigns: CampaignRepository,
    private readonly analysis: CampaignAnalysisService,
    private readonly starting: ScheduledCampaignsService,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#loop = new Loop(
      POLL_MS,
      () => this.pass(),
      (error) => logFailure(this.logger, error, 'looking for scheduled campaigns failed'),
    );
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Starts all that are due. One that cannot be started does not hold up the others; it is tried again. */
  async pass(): Promise<void> {
    for (const due of await this.scheduled.due(BATCH)) await this.#start(due);
  }

  async #start({ id, scope }: DueCampaign): Promise<void> {
    try {
      const waiting = await this.campaigns.scheduled(scope, id);
      if (waiting !== null) await this.analysis.prepare(scope, waiting);
      const reason = await this.starting.start(scope, id);
      if (reason !== null) this.logger.error({ campaignId: id, reason }, 'a scheduled campaign failed');
    } catch (error) {
      logFailure(this.logger, error, 'a scheduled campaign did not start', { campaignId: id });
    }
  }
}
