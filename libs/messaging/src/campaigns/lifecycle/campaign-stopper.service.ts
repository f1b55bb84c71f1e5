import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { EmailQuota } from '#billing';
import { publish, type Transaction } from '#platform';
import type { Campaign } from '../campaign.js';
import type { UnboundEmails } from '../campaign-draft.js';
import { CampaignStopped } from '../campaign.events.js';

/** What follows when a campaign ends before everybody has it. */
@Injectable()
export class CampaignStopper {
  constructor(@Inject(EmailQuota) private readonly quota: EmailQuota) {}

  /** Gives unbound e-mails back and has the worker end what is open, in the transaction that ended the campaign. */
  async stop(
    scope: ProjectScope,
    tx: Transaction,
    campaign: Campaign,
    { usagePeriod, emails }: UnboundEmails,
  ): Promise<void> {
    if (usagePeriod !== null) await this.quota.settle(scope, usagePeriod, { used: 0, released: emails });
    if (campaign.closingSince !== null)
      await publish(tx.db, scope, CampaignStopped({ campaignId: campaign.id }));
  }
}
