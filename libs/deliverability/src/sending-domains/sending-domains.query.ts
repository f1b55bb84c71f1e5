import { Inject, Injectable } from '@nestjs/common';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { instructionsText } from './dns-instructions.js';
import { type DnsRecord, isRequired, isRight } from '../dns/dns-record.js';
import { DnsRecordRepository } from './dns-record.repository.js';
import type { SendingDomain } from './sending-domain.js';
import { SendingDomainRepository } from './sending-domain.repository.js';

/** A domain with the records that its owner has to publish. */
export interface SendingDomainView extends SendingDomain {
  readonly dnsRecords: readonly DnsRecord[];
  /** Whether all of them were found right when they were last looked for. */
  readonly allVerified: boolean;
}

export interface DnsInstructions {
  readonly domainName: string;
  readonly requiredRecords: readonly DnsRecord[];
  readonly instructionsText: string;
}

/** Shows sending domains. */
@Injectable()
export class SendingDomainsQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SendingDomainRepository) private readonly domains: SendingDomainRepository,
    @Inject(DnsRecordRepository) private readonly records: DnsRecordRepository,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Throws `NotFoundError` when none is set up. */
  async ofScope(scope: ProjectScope): Promise<SendingDomainView> {
    const { domain, records } = await this.#load(scope);
    const dnsRecords = records.filter(isRequired);
    return { ...domain, dnsRecords, allVerified: dnsRecords.every(isRight) };
  }

  /** What to enter where; throws `NotFoundError` when no domain is set up. */
  async instructions(scope: ProjectScope): Promise<DnsInstructions> {
    const { domain, records } = await this.#load(scope);
    return {
      domainName: domain.domainName,
      requiredRecords: records.filter(isRequired),
      instructionsText: instructionsText(domain, records, this.clock.now()),
    };
  }

  #load(scope: ProjectScope): Promise<{ domain: SendingDomain; records: readonly DnsRecord[] }> {
    return this.database.transaction(scope, async () => {
      const domain = await this.domains.hold(scope);
      if (domain === null) throw new NotFoundError();
      return { domain, records: await this.records.of(scope, domain.id) };
    });
  }
}
