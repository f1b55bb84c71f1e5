import { Inject, Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { EmailQuota } from '#billing';
import { Database, publish, type Transaction } from '#platform';
import type { Campaign } from './campaign.js';
import { CampaignAnalysisService, type CampaignAnalysis } from './campaign-analysis.service.js';
import { PreSendRejectedError } from './campaign.errors.js';
import { CampaignQueued } from './campaign.events.js';
import { CampaignRepository } from './campaign.repository.js';

/** `send`: checks, sets the e-mails aside and hands the campaign to the worker, all or nothing. */
@Injectable()
export class CampaignSendingService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignRepository) private readonly campaigns: CampaignRepository,
    @Inject(CampaignAnalysisService) private readonly analysis: CampaignAnalysisService,
    @Inject(EmailQuota) private readonly quota: EmailQuota,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Queues the campaign. Of two that call at once one succeeds; the other gets `InvalidStateError`.
   * `PreSendRejectedError` tells what is wrong, and the campaign keeps the verdict.
   */
  async send(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    const outcome = await this.database.transaction(scope, async (tx) => {
      const campaign = await this.campaigns.lock(scope, tx, campaignKey);
      campaign.refuseUnlessSendable();
      const now = this.clock.now();
      const analysis = await this.analysis.analyse(scope, campaign, now);
      campaign.judge(analysis);
      if (analysis.status !== 'FAILED') await this.#queue(scope, tx, campaign, analysis, now);
      return { campaign, analysis };
    });
    if (outcome.analysis.status === 'FAILED') throw new PreSendRejectedError(outcome.analysis.checks);
    return outcome.campaign;
  }

  async #queue(
    scope: ProjectScope,
    tx: Transaction,
    campaign: Campaign,
    analysis: CampaignAnalysis,
    now: Date,
  ) {
    const usagePeriod = await this.#reserve(scope, analysis, now);
    campaign.queue({ recipients: analysis.recipients, usagePeriod }, now);
    await publish(tx.db, scope, CampaignQueued({ campaignId: campaign.id }));
  }

  /** The period in which the e-mails are set aside; null in the test environment, which is not metered. */
  async #reserve(
    scope: ProjectScope,
    { recipients, checks }: CampaignAnalysis,
    now: Date,
  ): Promise<Date | null> {
    if (scope.environment === 'TEST') return null;
    const { granted, periodStart, remaining } = await this.quota.reserve(scope, recipients, now);
    if (granted) return periodStart;
    // Another campaign was faster between the check and the reservation.
    const message = `${recipients} e-mails needed, ${remaining} left in this period.`;
    throw new PreSendRejectedError(
      checks.map((check) => (check.code === 'email-quota' ? { ...check, result: 'FAIL', message } : check)),
    );
  }
}
