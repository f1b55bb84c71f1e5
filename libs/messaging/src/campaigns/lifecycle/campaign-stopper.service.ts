import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { EmailQuotaService } from '#billing';
import { Database, publish } from '#platform';
import type { Campaign } from '../campaign.js';
import type { UnboundEmails } from '../campaign-draft.js';
import { CampaignStopped } from '../campaign.events.js';
import { CampaignPublisher } from './campaign-publisher.service.js';

/** Ends campaigns before everybody has them, in the open transaction that has them locked. */
@Injectable()
export class CampaignStopper {
  constructor(
    private readonly database: Database,
    private readonly quota: EmailQuotaService,
    private readonly publisher: CampaignPublisher,
    private readonly clock: Clock,
  ) {}

  cancel(scope: ProjectScope, campaign: Campaign): Promise<void> {
    return this.#stop(scope, campaign, campaign.cancel(this.clock.now()));
  }

  /** False when it had ended already. */
  async fail(scope: ProjectScope, campaign: Campaign, reason: string): Promise<boolean> {
    const unbound = campaign.fail(reason, this.clock.now());
    if (unbound === null) return false;
    await this.#stop(scope, campaign, unbound);
    await this.publisher.failed(scope, campaign, reason);
    return true;
  }

  /** Gives unbound e-mails back and has the worker end the open deliveries. */
  async #stop(
    scope: ProjectScope,
    campaign: Campaign,
    { usagePeriod, emails }: UnboundEmails,
  ): Promise<void> {
    if (usagePeriod !== null) await this.quota.settle(scope, usagePeriod, { used: 0, released: emails });
    if (campaign.closingSince !== null)
      await publish(this.database, scope, CampaignStopped({ campaignId: campaign.id }));
  }
}
