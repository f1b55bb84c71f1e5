import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { logFailure, LOGGER, Loop } from '#platform';
import { CampaignLifecycleService } from './campaign-lifecycle.service.js';
import { CampaignRepository, type DueCampaign } from './campaign.repository.js';
import { PreSendAnalysisService } from './pre-send-analysis.service.js';

/** The longest that a due campaign waits for the next pass. */
const POLL_MS = 500;
const BATCH = 100;

/**
 * Starts campaigns when their time has come. Every worker runs one; the row's lock lets one of them start each
 * campaign. The table is asked, not a timer, so that one whose time passed while everything was down is found.
 */
@Injectable()
export class CampaignSchedulerService {
  readonly #loop: Loop;

  constructor(
    private readonly campaigns: CampaignRepository,
    private readonly analysis: PreSendAnalysisService,
    private readonly lifecycle: CampaignLifecycleService,
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
    for (const due of await this.campaigns.due(BATCH)) await this.#start(due);
  }

  async #start({ id, scope }: DueCampaign): Promise<void> {
    try {
      const waiting = await this.campaigns.scheduled(scope, id);
      if (waiting !== null) await this.analysis.prepare(scope, waiting);
      const reason = await this.lifecycle.startDue(scope, id);
      if (reason !== null) this.logger.error({ campaignId: id, reason }, 'a scheduled campaign failed');
    } catch (error) {
      logFailure(this.logger, error, 'a scheduled campaign did not start', { campaignId: id });
    }
  }
}
