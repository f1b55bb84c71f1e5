import { Injectable } from '@nestjs/common';
import { EmailQuotaService, SubscriptionsQuery } from '#billing';
import type { CampaignFacts } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { type MailAddresses, SenderOutlook } from './sender-outlook.service.js';

type Readiness = Pick<CampaignFacts, 'sender' | 'relays' | 'sendingAllowed' | 'emailsRemaining'>;

/** What a project may send now, and as whom. */
@Injectable()
export class SendingReadiness {
  constructor(
    private readonly subscriptions: SubscriptionsQuery,
    private readonly quota: EmailQuotaService,
    private readonly sender: SenderOutlook,
  ) {}

  /** Fetches ahead what `of` would ask DNS for. */
  async lookAhead(scope: ProjectScope, mail: MailAddresses): Promise<void> {
    await this.sender.of(scope, mail);
  }

  async of(scope: ProjectScope, mail: MailAddresses, now: Date): Promise<Readiness> {
    const subscription = await this.subscriptions.ofTenant(scope);
    return {
      ...(await this.sender.of(scope, mail)),
      sendingAllowed: subscription?.isSendingAllowed === true,
      emailsRemaining: scope.environment === 'LIVE' ? await this.quota.remaining(scope, now) : null,
    };
  }
}
