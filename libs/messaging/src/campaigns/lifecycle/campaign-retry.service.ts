import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { EmailQuotaService } from '#billing';
import { quotaMessage } from '#deliverability';
import { Database, publish } from '#platform';
import { FailedDeliveriesQuery } from './failed-deliveries.query.js';
import type { Campaign } from '../campaign.js';
import { PreSendRejectedError } from '../campaign.errors.js';
import { CampaignAnalysisService } from '../analysis/campaign-analysis.service.js';
import { CampaignRetried } from '../campaign.events.js';
import { CampaignRepository } from '../campaign.repository.js';

/** `retry-failed`: one more try for those whose mailbox or server could not take the mail in time. */
@Injectable()
export class CampaignRetryService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly analysis: CampaignAnalysisService,
    private readonly failed: FailedDeliveriesQuery,
    private readonly quota: EmailQuotaService,
  ) {}

  /**
   * Sends a campaign that is SENT again to those who did not get it for a temporary reason; nothing changes when
   * there are none. `PreSendRejectedError` when the period has no e-mails left for them, or a merge tag has lost its custom
   * field since.
   */
  async retryFailed(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    const sent = await this.campaigns.named(scope, campaignKey);
    // Compiles it ahead, while nothing is locked.
    if (sent.allows('retryFailed')) await this.analysis.mergeTagFault(scope, sent);
    return this.campaigns.whileLocked(scope, campaignKey, async (campaign, now) => {
      campaign.refuseUnlessAllowed('retryFailed');
      const recipients = await this.failed.count(scope, campaign);
      if (recipients === 0) return campaign;
      const fault = await this.analysis.mergeTagFault(scope, campaign);
      if (fault !== null) throw new PreSendRejectedError([fault]);
      const usagePeriod = scope.environment === 'TEST' ? null : await this.#reserve(scope, recipients, now);
      campaign.retryFailed({ recipients, usagePeriod }, now);
      await publish(this.database, scope, CampaignRetried({ campaignId: campaign.id }));
      return campaign;
    });
  }

  async #reserve(scope: ProjectScope, emails: number, now: Date): Promise<Date> {
    const { granted, periodStart, remaining } = await this.quota.reserve(scope, emails, now);
    if (granted) return periodStart;
    const message = quotaMessage(emails, remaining);
    throw new PreSendRejectedError([{ code: 'email-quota', severity: 'CRITICAL', result: 'FAIL', message }]);
  }
}
