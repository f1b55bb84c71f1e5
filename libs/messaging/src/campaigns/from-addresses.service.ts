import { Inject, Injectable, Module } from '@nestjs/common';
import { AccessModule, type Project, ProjectsQuery, ProjectWordings } from '#access';
import {
  alignmentBelow,
  type CampaignFacts,
  DeliverabilityModule,
  type DmarcAlignment,
  isAtOrBelow,
  RelaysQuery,
  type RelaySummary,
  SenderHostsService,
  SendingDomainsQuery,
  type SendingDomainSummary,
  TrackingHostsQuery,
} from '#deliverability';
import { type EmailAddress, parseEmailAddress, type ProjectScope } from '#kernel';
import { type Config, CONFIG } from '#platform';
import type { Wording } from '#wording';

/** The person or company that a mail is from. `address` has its domain as A-labels, fit for an SMTP command and a header. */
export interface SenderIdentity {
  readonly name: string;
  readonly address: string;
  readonly domain: string;
}

/** The sender of a project's mail. */
export interface Sender extends SenderIdentity {
  /** The end of the Message-ID: the domain that signs, or that of the address where none does. */
  readonly messageIdDomain: string;
}

/** A campaign's own words on its sender; null: the project's. */
export interface OwnSender {
  readonly fromName: string | null;
  readonly fromEmail: string | null;
}

/** The origin of a project's mail: its sender, and the beginning of its links. */
export interface MailOrigin {
  readonly project: Project;
  readonly sender: Sender;
  readonly linkBase: string;
}

/** The addresses in a mail's From and Reply-To. */
interface MailAddresses {
  /** The host part of From. */
  readonly host: string;
  /** Null where answers go to From. */
  readonly replyTo: string | null;
}

const NOTHING_OWN: OwnSender = { fromName: null, fromEmail: null };

/** From addresses of campaigns' and automations' mail. */
@Injectable()
export class FromAddressesService {
  constructor(
    private readonly projects: ProjectsQuery,
    private readonly domains: SendingDomainsQuery,
    private readonly hosts: TrackingHostsQuery,
    private readonly wordings: ProjectWordings,
    private readonly relays: RelaysQuery,
    private readonly senderHosts: SenderHostsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Null when the project is gone. */
  async of(
    scope: ProjectScope,
    { fromName, fromEmail }: OwnSender = NOTHING_OWN,
  ): Promise<MailOrigin | null> {
    const project = await this.projects.ofScope(scope);
    if (project === null) return null;
    const addresses = [fromEmail, project.defaultFromEmail, this.config.DEFAULT_FROM_EMAIL];
    const identity = senderIdentity(senderName(fromName, project.senderName), ...addresses);
    const sender = { ...identity, messageIdDomain: await this.#signingDomain(scope, identity.domain) };
    return { project, sender, linkBase: await this.hosts.linkBase(scope, project) };
  }

  /** The end of the Message-IDs of the project's own mail. */
  async messageIdDomain(scope: ProjectScope): Promise<string> {
    const project = await this.projects.ofScope(scope);
    const { domain } = firstAddress(project?.defaultFromEmail ?? null, this.config.DEFAULT_FROM_EMAIL);
    return this.#signingDomain(scope, domain);
  }

  /** True where live mail from this domain must wait until it is verified. */
  async isBarred({ environment, ...scope }: ProjectScope, domain: string): Promise<boolean> {
    if (environment !== 'LIVE' || !this.config.REQUIRE_VERIFIED_DOMAIN) return false;
    const summary = await this.domains.summary({ environment, ...scope });
    return summary === null || !summary.verified || !isAtOrBelow(domain, summary.domainName);
  }

  /** The words for readers of a language; null: the project's. */
  async wording(scope: ProjectScope, locale: string | null): Promise<Wording> {
    return (await this.wordings.of(scope, [locale])).wording;
  }

  /** The sender as mailbox providers will see it, for the pre-send checks. DNS has 4 s; its answers are kept for a minute. */
  async facts(
    scope: ProjectScope,
    { host, replyTo }: MailAddresses,
  ): Promise<Pick<CampaignFacts, 'sender' | 'relays'>> {
    // Test mail stays in its inbox: no mailbox provider judges its sender.
    if (scope.environment !== 'LIVE')
      return { sender: { host, needsDomain: false, domain: null, replies: null }, relays: null };
    const relays = await this.relays.ofStream(scope, 'CAMPAIGN');
    const summary = await this.domains.summary(scope);
    const [alignment, replies] = await Promise.all([
      summary && this.#alignment(host, summary, relays),
      this.#replies(host, replyTo),
    ]);
    const domain = summary && { ...summary, covers: isAtOrBelow(host, summary.domainName), alignment };
    return { sender: { host, needsDomain: this.config.REQUIRE_VERIFIED_DOMAIN, domain, replies }, relays };
  }

  /** The domain that signs mail of this sender's domain: the project's, or the sender's where that one does not. */
  async #signingDomain(scope: ProjectScope, senderDomain: string): Promise<string> {
    const signing = (await this.domains.summary(scope))?.domainName;
    return signing !== undefined && isAtOrBelow(senderDomain, signing) ? signing : senderDomain;
  }

  #replies(host: string, replyTo: string | null) {
    const parsed = replyTo === null ? null : parseEmailAddress(replyTo);
    const ofReplyTo = parsed !== null && 'address' in parsed ? [parsed.address.domain] : [];
    return Promise.all(
      [...new Set([host, ...ofReplyTo])].map(async (domain) => ({
        domain,
        canReceive: await this.senderHosts.canReceive(domain),
      })),
    );
  }

  /** Null where mail from `host` aligns under any policy, or nobody knows. */
  async #alignment(
    host: string,
    { domainName, verified }: SendingDomainSummary,
    relays: readonly RelaySummary[],
  ): Promise<DmarcAlignment | null> {
    const isBelow = host !== domainName && isAtOrBelow(host, domainName);
    const signed = relays.filter(({ carriesOurSignature }) => carriesOurSignature);
    const isSigned = relays.length === 0 ? this.config.DKIM_SIGNING !== 'relay' : signed.length > 0;
    // A relay that signs may sign as anybody.
    if (!isBelow || !verified || !isSigned) return null;
    const returnsToUs = relays.length === 0 || signed.some(({ usesOurReturnPath }) => usesOurReturnPath);
    const policy = await this.senderHosts.dmarcPolicyOf(host);
    return policy === null ? null : alignmentBelow(domainName, policy, returnsToUs);
  }
}

/** A mail's own name for its sender, or the project's where it has none to show. */
export function senderName(own: string | null, ofProject: string): string {
  const name = own?.trim() ?? '';
  return name === '' ? ofProject : name;
}

/** The first of these that is an address; throws when none is. */
function firstAddress(...candidates: readonly (string | null)[]): EmailAddress {
  for (const candidate of candidates) {
    const parsed = candidate === null ? null : parseEmailAddress(candidate);
    if (parsed !== null && 'address' in parsed) return parsed.address;
  }
  throw new Error('No sender address is configured.');
}

/** The first of the addresses that is one, with the name; throws when none is. */
export function senderIdentity(name: string, ...addresses: readonly (string | null)[]): SenderIdentity {
  const { localPart, domain } = firstAddress(...addresses);
  return { name, address: `${localPart}@${domain}`, domain };
}

/** For campaigns and automations alike. */
@Module({
  imports: [AccessModule, DeliverabilityModule],
  providers: [FromAddressesService],
  exports: [FromAddressesService],
})
export class FromAddressesModule {}
