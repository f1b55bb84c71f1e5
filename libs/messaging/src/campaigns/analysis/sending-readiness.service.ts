import { Inject, Injectable } from '@nestjs/common';
import { EmailQuota, SubscriptionsQuery } from '#billing';
import type { CampaignFacts } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { SenderOutlook } from './sender-outlook.service.js';

type Readiness = Pick<CampaignFacts, 'sender' | 'relays' | 'sendingAllowed' | 'emailsRemaining'>;

/** What a project may send now, and as whom. */
@Injectable()
export class SendingReadiness {
  constructor(
    @Inject(SubscriptionsQuery) private readonly subscriptions: SubscriptionsQuery,
    @Inject(EmailQuota) private readonly quota: EmailQuota,
    @Inject(SenderOutlook) private readonly sender: SenderOutlook,
  ) {}

  /** Fetches ahead what `of` would ask DNS for. */
  async lookAhead(scope: ProjectScope, host: string): Promise<void> {
    await this.sender.of(scope, host);
  }

  /** Of mail whose From is at `host`. */
  async of(scope: ProjectScope, host: string, now: Date): Promise<Readiness> {
    const subscription = await this.subscriptions.ofTenant(scope);
    return {
      ...(await this.sender.of(scope, host)),
      sendingAllowed: subscription?.isSendingAllowed === true,
      emailsRemaining: scope.environment === 'LIVE' ? await this.quota.remaining(scope, now) : null,
    };
  }
}
