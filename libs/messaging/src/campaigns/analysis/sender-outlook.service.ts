import { Inject, Injectable } from '@nestjs/common';
import {
  alignmentBelow,
  type CampaignFacts,
  type DmarcAlignment,
  DmarcPolicies,
  isAtOrBelow,
  type RelayStanding,
  RelayStandingQuery,
  type SendingDomainStanding,
  SendingDomainStandingQuery,
} from '#deliverability';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG } from '#platform';

/** As whom a campaign is sent, and by which relays. */
@Injectable()
export class SenderOutlook {
  constructor(
    @Inject(SendingDomainStandingQuery) private readonly domains: SendingDomainStandingQuery,
    @Inject(RelayStandingQuery) private readonly relays: RelayStandingQuery,
    @Inject(DmarcPolicies) private readonly policies: DmarcPolicies,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Of mail whose From is at `host`. What it asks DNS for is kept for a minute. */
  async of(scope: ProjectScope, host: string): Promise<Pick<CampaignFacts, 'sender' | 'relays'>> {
    // Test mail stays in its inbox, so it says nothing about what mailbox providers will think.
    if (scope.environment !== 'LIVE')
      return { sender: { host, needsDomain: false, domain: null }, relays: null };
    const relays = await this.relays.ofStream(scope, 'CAMPAIGN');
    const standing = await this.domains.ofScope(scope);
    const domain = standing && {
      ...standing,
      covers: isAtOrBelow(host, standing.domainName),
      alignment: await this.#alignment(host, standing, relays),
    };
    return { sender: { host, needsDomain: this.config.REQUIRE_VERIFIED_DOMAIN, domain }, relays };
  }

  /** Null where mail from `host` aligns whatever the policy is, or nobody knows. */
  async #alignment(
    host: string,
    { domainName, verified }: SendingDomainStanding,
    relays: readonly RelayStanding[],
  ): Promise<DmarcAlignment | null> {
    const isBelow = host !== domainName && isAtOrBelow(host, domainName);
    const signed = relays.filter(({ carriesOurSignature }) => carriesOurSignature);
    const isSigned = relays.length === 0 ? this.config.DKIM_SIGNING !== 'relay' : signed.length > 0;
    // A relay that signs may sign as anybody.
    if (!isBelow || !verified || !isSigned) return null;
    const returnsToUs = relays.length === 0 || signed.some(({ usesOurReturnPath }) => usesOurReturnPath);
    const policy = await this.policies.of(host);
    return policy === null ? null : alignmentBelow(domainName, policy, returnsToUs);
  }
}
