import { Inject, Injectable } from '@nestjs/common';
import { EmailQuota, SubscriptionsQuery } from '#billing';
import {
  type CampaignFacts,
  isAtOrBelow,
  type SenderFacts,
  type SendingDomainStanding,
  SendingDomainStandingQuery,
} from '#deliverability';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG } from '#platform';

type Readiness = Pick<CampaignFacts, 'sender' | 'sendingAllowed' | 'emailsRemaining'>;

/** What a project may send now, and as whom. */
@Injectable()
export class SendingReadiness {
  constructor(
    @Inject(SubscriptionsQuery) private readonly subscriptions: SubscriptionsQuery,
    @Inject(EmailQuota) private readonly quota: EmailQuota,
    @Inject(SendingDomainStandingQuery) private readonly domains: SendingDomainStandingQuery,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Of mail whose From is at `host`. */
  async of(scope: ProjectScope, host: string, now: Date): Promise<Readiness> {
    const subscription = await this.subscriptions.ofTenant(scope);
    const isLive = scope.environment === 'LIVE';
    const domain = await this.domains.ofScope(scope);
    return {
      sender: {
        host,
        needsDomain: isLive && this.config.REQUIRE_VERIFIED_DOMAIN,
        // Test mail stays in its inbox, so it says nothing about what mailbox providers will think.
        domain: isLive && domain !== null ? domainFacts(domain, host) : null,
      },
      sendingAllowed: subscription?.isSendingAllowed === true,
      emailsRemaining: isLive ? await this.quota.remaining(scope, now) : null,
    };
  }
}

function domainFacts(standing: SendingDomainStanding, host: string): SenderFacts['domain'] {
  return { ...standing, covers: isAtOrBelow(host, standing.domainName) };
}
