import { Inject, Injectable } from '@nestjs/common';
import { EmailQuotaService } from '#billing';
import { type PreSendCheck, quotaMessage, summarise } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG } from '#platform';
import type { Campaign } from '../campaign.js';
import { type CampaignAnalysis, CampaignAnalysisService } from '../analysis/campaign-analysis.service.js';
import { PreSendRejectedError } from '../campaign.errors.js';
import { CampaignRepository } from '../campaign.repository.js';
import { CampaignPublisher } from './campaign-publisher.service.js';

/** Has campaigns go out: when the author says `send`, and when a scheduled one is due. */
@Injectable()
export class CampaignSendingService {
  constructor(
    private readonly campaigns: CampaignRepository,
    private readonly analysis: CampaignAnalysisService,
    private readonly quota: EmailQuotaService,
    private readonly publisher: CampaignPublisher,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Queues the campaign. Of two that call at once one succeeds; the other gets `InvalidStateError`.
   * `PreSendRejectedError` tells what is wrong, and the campaign keeps the verdict.
   */
  send(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#checked(scope, campaignKey, (campaign, now) => this.start(scope, campaign, now));
  }

  /** Has the campaign go out at its `scheduledAt`. Throws as `send` does, and `ScheduleMissingError`. */
  schedule(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#checked(scope, campaignKey, (campaign, now) => this.#schedule(scope, campaign, now));
  }

  /**
   * Checks a campaign that the caller has locked, reserves its e-mails and queues it, all in the caller's transaction.
   * When the analysis that it resolves to is FAILED, nothing but the verdict has changed.
   */
  async start(scope: ProjectScope, campaign: Campaign, now: Date): Promise<CampaignAnalysis> {
    campaign.refuseUnlessSendable();
    if (campaign.queuedAt !== null) await this.campaigns.refuseLetGo(scope, campaign);
    const found = await this.analysis.analyse(scope, campaign, now);
    const analysis = found.status === 'FAILED' ? found : await this.#queue(scope, campaign, found, now);
    campaign.judge(analysis, now);
    return analysis;
  }

  /** It is checked once more when its time has come. */
  async #schedule(scope: ProjectScope, campaign: Campaign, now: Date): Promise<CampaignAnalysis> {
    campaign.refuseUnlessSchedulable(now);
    const analysis = await this.analysis.analyse(scope, campaign, now);
    campaign.judge(analysis, now);
    if (analysis.status === 'FAILED') return analysis;
    campaign.schedule(now);
    await this.publisher.publish(scope, 'campaign.scheduled', campaign);
    return analysis;
  }

  async #checked(
    scope: ProjectScope,
    campaignKey: string,
    check: (campaign: Campaign, now: Date) => Promise<CampaignAnalysis>,
  ): Promise<Campaign> {
    await this.analysis.prepare(scope, await this.campaigns.named(scope, campaignKey));
    const { campaign, analysis } = await this.campaigns.whileLocked(
      scope,
      campaignKey,
      async (locked, now) => ({
        campaign: locked,
        analysis: await check(locked, now),
      }),
    );
    if (analysis.status === 'FAILED') throw new PreSendRejectedError(analysis.checks, campaign.failureReason);
    return campaign;
  }

  async #queue(
    scope: ProjectScope,
    campaign: Campaign,
    analysis: CampaignAnalysis,
    now: Date,
  ): Promise<CampaignAnalysis> {
    const { recipients } = analysis;
    const { AMBIGUOUS_POLICY } = this.config;
    // The test environment is not metered.
    if (scope.environment === 'TEST') {
      campaign.queue({ recipients, usagePeriod: null }, now, AMBIGUOUS_POLICY);
    } else {
      const { granted, periodStart, remaining } = await this.quota.reserve(scope, recipients, now);
      // Another campaign was faster between the check and the reservation.
      if (!granted)
        return { ...analysis, ...summarise(withoutQuota(analysis.checks, recipients, remaining)) };
      campaign.queue({ recipients, usagePeriod: periodStart }, now, AMBIGUOUS_POLICY);
    }
    await this.publisher.queued(scope, campaign);
    return analysis;
  }
}

/** The checks as they are when so many e-mails are needed and fewer are left. */
function withoutQuota(checks: readonly PreSendCheck[], needed: number, left: number): PreSendCheck[] {
  const message = quotaMessage(needed, left);
  return checks.map((check) =>
    check.code === 'email-quota' ? { ...check, result: 'FAIL', message } : check,
  );
}
