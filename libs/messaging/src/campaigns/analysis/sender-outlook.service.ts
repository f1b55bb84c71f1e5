import { Inject, Injectable } from '@nestjs/common';
import {
  alignmentBelow,
  type CampaignFacts,
  type DmarcAlignment,
  DmarcPolicies,
  isAtOrBelow,
  ReceivingDomains,
  type RelayStanding,
  RelayStandingQuery,
  type SendingDomainStanding,
  SendingDomainStandingQuery,
} from '#deliverability';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { type Config, CONFIG } from '#platform';

/** Where mail comes from, and where answers to it go. */
export interface MailAddresses {
  /** The host part of From. */
  readonly host: string;
  /** Null where answers go to From. */
  readonly replyTo: string | null;
}

/** As whom a campaign is sent, and by which relays. */
@Injectable()
export class SenderOutlook {
  constructor(
    private readonly domains: SendingDomainStandingQuery,
    private readonly relays: RelayStandingQuery,
    private readonly policies: DmarcPolicies,
    private readonly receiving: ReceivingDomains,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** What it asks DNS for is kept for a minute, and waited for 4 s at most. */
  async of(
    scope: ProjectScope,
    { host, replyTo }: MailAddresses,
  ): Promise<Pick<CampaignFacts, 'sender' | 'relays'>> {
    // Test mail stays in its inbox, so it says nothing about what mailbox providers will think.
    if (scope.environment !== 'LIVE')
      return { sender: { host, needsDomain: false, domain: null, replies: null }, relays: null };
    const relays = await this.relays.ofStream(scope, 'CAMPAIGN');
    const standing = await this.domains.ofScope(scope);
    const [alignment, replies] = await Promise.all([
      standing && this.#alignment(host, standing, relays),
      this.#replies(host, replyTo),
    ]);
    const domain = standing && { ...standing, covers: isAtOrBelow(host, standing.domainName), alignment };
    return { sender: { host, needsDomain: this.config.REQUIRE_VERIFIED_DOMAIN, domain, replies }, relays };
  }

  #replies(host: string, replyTo: string | null) {
    const parsed = replyTo === null ? null : parseEmailAddress(replyTo);
    const ofReplyTo = parsed !== null && 'address' in parsed ? [parsed.address.domain] : [];
    return Promise.all(
      [...new Set([host, ...ofReplyTo])].map(async (domain) => ({
        domain,
        canReceive: await this.receiving.canReceive(domain),
      })),
    );
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
