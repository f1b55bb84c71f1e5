import { Injectable } from '@nestjs/common';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DnsRecord } from '../dns/dns-record.js';
import { instructionsText } from './dns-instructions.js';
import type { SendingDomain } from './sending-domain.js';
import { SendingDomainRepository } from './sending-domain.repository.js';

/** A domain with the records that its owner has to publish. */
export type SendingDomainView = ReturnType<typeof toView>;
export type DnsRecordView = ReturnType<typeof toRecordView>;

export interface DnsInstructions {
  readonly domainName: string;
  readonly requiredRecords: readonly DnsRecordView[];
  readonly instructionsText: string;
}

/** Shows sending domains. */
@Injectable()
export class SendingDomainsQuery {
  constructor(
    private readonly database: Database,
    private readonly domains: SendingDomainRepository,
    private readonly clock: Clock,
  ) {}

  /** Throws `NotFoundError` when none is set up. */
  async ofScope(scope: ProjectScope): Promise<SendingDomainView> {
    return toView(await this.#load(scope));
  }

  /** What to enter where; throws `NotFoundError` when no domain is set up. */
  async instructions(scope: ProjectScope): Promise<DnsInstructions> {
    const domain = await this.#load(scope);
    return {
      domainName: domain.domainName,
      requiredRecords: domain.requiredRecords.map(toRecordView),
      instructionsText: instructionsText(domain, this.clock.now()),
    };
  }

  #load(scope: ProjectScope): Promise<SendingDomain> {
    return this.database.transaction(scope, async () => {
      const domain = await this.domains.hold(scope);
      if (domain === null) throw new NotFoundError();
      return domain;
    });
  }
}

function toView(domain: SendingDomain) {
  const { records: _, needed: _needed, ...facts } = domain;
  const required = domain.requiredRecords;
  return {
    ...facts,
    dnsRecords: required.map(toRecordView),
    /** Whether all of them were found right when they were last looked for. */
    allVerified: required.every(({ isRight }) => isRight),
  };
}

function toRecordView({ key, ...facts }: DnsRecord) {
  if (key === null) return { ...facts, key };
  const { state, algorithm, retiredAt } = key;
  return { ...facts, key: { state, algorithm, retiredAt } };
}
