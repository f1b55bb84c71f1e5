import { Inject, Injectable } from '@nestjs/common';
import { type Project, ProjectsQuery, ProjectWordings } from '#access';
import { isAtOrBelow, SendingDomainStandingQuery, TrackingHostsQuery } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG } from '#platform';
import type { Wording } from '#wording';
import { senderIdentity, type SenderIdentity, senderName } from './sender-identity.js';

/** Who a project's mail is from. */
export interface Sender extends SenderIdentity {
  /** What the Message-ID ends with: the domain that signs, or that of the address where none does. */
  readonly messageIdDomain: string;
}

/** What a campaign says of its sender; what it leaves out is the project's. */
export interface OwnSender {
  readonly fromName: string | null;
  readonly fromEmail: string | null;
}

/** A project's mail: who it is from, and what its links begin with. */
export interface MailOrigin {
  readonly project: Project;
  readonly sender: Sender;
  readonly linkBase: string;
}

const NOTHING_OWN: OwnSender = { fromName: null, fromEmail: null };

/** Tells who mail is from, and what words it has of them. */
@Injectable()
export class Senders {
  constructor(
    private readonly projects: ProjectsQuery,
    private readonly domains: SendingDomainStandingQuery,
    private readonly hosts: TrackingHostsQuery,
    private readonly wordings: ProjectWordings,
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
    const signing = (await this.domains.ofScope(scope))?.domainName;
    const isSigned = signing !== undefined && isAtOrBelow(identity.domain, signing);
    const sender = { ...identity, messageIdDomain: isSigned ? signing : identity.domain };
    return { project, sender, linkBase: await this.hosts.linkBase(scope, project) };
  }

  /** What the links of the project's mails begin with. */
  linkBase(scope: ProjectScope, project: Project): Promise<string> {
    return this.hosts.linkBase(scope, project);
  }

  /** For a reader of a language; null for the project's. */
  async wording(scope: ProjectScope, locale: string | null): Promise<Wording> {
    return (await this.wordings.of(scope, [locale])).wording;
  }
}
