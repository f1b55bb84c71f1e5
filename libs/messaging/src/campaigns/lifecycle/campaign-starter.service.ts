import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { EmailQuota } from '#billing';
import { type PreSendCheck, quotaMessage, summarise } from '#deliverability';
import { type Config, CONFIG, Database, publish } from '#platform';
import type { Campaign } from '../campaign.js';
import { CampaignAnalysisService, type CampaignAnalysis } from '../analysis/campaign-analysis.service.js';
import { CampaignPublisher } from './campaign-publisher.service.js';
import { CampaignQueued } from '../campaign.events.js';

/** What happens when a campaign is to go out, by `send` or because its time has come. */
@Injectable()
export class CampaignStarter {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignAnalysisService) private readonly analysis: CampaignAnalysisService,
    @Inject(EmailQuota) private readonly quota: EmailQuota,
    @Inject(CampaignPublisher) private readonly publisher: CampaignPublisher,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Checks a campaign that the caller has locked, sets its e-mails aside and queues it, all in the caller's
   * transaction. When the analysis that it resolves to is FAILED, nothing but the verdict has changed.
   */
  async start(scope: ProjectScope, campaign: Campaign, now: Date): Promise<CampaignAnalysis> {
    campaign.refuseUnlessSendable();
    const found = await this.analysis.analyse(scope, campaign, now);
    const analysis = found.status === 'FAILED' ? found : await this.#queue(scope, campaign, found, now);
    campaign.judge(analysis, now);
    return analysis;
  }

  /** The same for its `scheduledAt`: it is checked once more when its time has come. */
  async schedule(scope: ProjectScope, campaign: Campaign, now: Date): Promise<CampaignAnalysis> {
    campaign.refuseUnlessSchedulable(now);
    const analysis = await this.analysis.analyse(scope, campaign, now);
    campaign.judge(analysis, now);
    if (analysis.status === 'FAILED') return analysis;
    campaign.schedule(now);
    await this.publisher.publish(scope, 'campaign.scheduled', campaign);
    return analysis;
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
    await publish(this.database, scope, CampaignQueued({ campaignId: campaign.id }));
    await this.publisher.publish(scope, 'campaign.queued', campaign);
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
