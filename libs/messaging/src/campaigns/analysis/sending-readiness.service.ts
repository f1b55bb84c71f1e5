import { Inject, Injectable } from '@nestjs/common';
import { EmailQuota, SubscriptionsQuery } from '#billing';
import {
  alignmentBelow,
  type CampaignFacts,
  type DmarcAlignment,
  DmarcPolicies,
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
    @Inject(DmarcPolicies) private readonly policies: DmarcPolicies,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Fetches ahead what `of` would ask DNS for. */
  async lookAhead(scope: ProjectScope, host: string): Promise<void> {
    const domain = await this.domains.ofScope(scope);
    if (domain !== null) await this.#alignment(scope, host, domain);
  }

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
        domain: isLive && domain !== null ? await this.#domainFacts(scope, domain, host) : null,
      },
      sendingAllowed: subscription?.isSendingAllowed === true,
      emailsRemaining: isLive ? await this.quota.remaining(scope, now) : null,
    };
  }

  async #domainFacts(
    scope: ProjectScope,
    standing: SendingDomainStanding,
    host: string,
  ): Promise<SenderFacts['domain']> {
    const alignment = await this.#alignment(scope, host, standing);
    return { ...standing, covers: isAtOrBelow(host, standing.domainName), alignment };
  }

  /** Null where mail from `host` aligns whatever the policy is, or nobody knows. */
  async #alignment(
    { environment }: ProjectScope,
    host: string,
    { domainName, verified }: SendingDomainStanding,
  ): Promise<DmarcAlignment | null> {
    const isBelow = host !== domainName && isAtOrBelow(host, domainName);
    // A relay that signs may sign as anybody.
    if (!isBelow || !verified || environment === 'TEST' || this.config.DKIM_SIGNING === 'relay') return null;
    const policy = await this.policies.of(host);
    return policy === null ? null : alignmentBelow(domainName, policy);
  }
}
