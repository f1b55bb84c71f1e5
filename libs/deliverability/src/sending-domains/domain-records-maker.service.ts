import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { type Config, CONFIG } from '#platform';
import type { NewDkimKey } from '../dkim/dkim-key-maker.service.js';
import { DnsRecordRepository } from './dns-record.repository.js';
import { domainRecords } from './required-records.js';
import type { DomainIdentity } from './sending-domain.repository.js';

const TOKEN_BYTES = 20;

/** Writes down what the owner of a new domain, or of a new name, has to publish. */
@Injectable()
export class DomainRecordsMaker {
  constructor(
    @Inject(DnsRecordRepository) private readonly records: DnsRecordRepository,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** The name, and the host below it that undeliverable mail returns to: so SPF aligns (RFC 9989 §4.4.2). */
  identityOf(domainName: string): DomainIdentity {
    return { domainName, returnPathHost: `${this.config.RETURN_PATH_LABEL}.${domainName}` };
  }

  /** In the caller's transaction; `keys` sign from the start. */
  async write(
    scope: ProjectScope,
    domainId: number,
    { domainName, returnPathHost }: DomainIdentity,
    keys: readonly NewDkimKey[],
  ): Promise<void> {
    const hosts = { bounceHost: this.config.BOUNCE_HOST, spfInclude: this.config.SPF_INCLUDE };
    const token = randomBytes(TOKEN_BYTES).toString('hex');
    await this.records.add(scope, domainId, domainRecords(domainName, returnPathHost, token, hosts));
    await this.records.addKeys(scope, { id: domainId, domainName }, keys, 'ACTIVE', this.clock.now());
  }
}
