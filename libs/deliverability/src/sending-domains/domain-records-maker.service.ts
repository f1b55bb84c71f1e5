import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type Config, CONFIG } from '#platform';
import type { NewDnsRecord } from '../dns/dns-record.js';
import { domainRecords } from './required-records.js';

const TOKEN_BYTES = 20;

/** Says what the owner of a new domain, or of a new name, has to publish. */
@Injectable()
export class DomainRecordsMaker {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  /** The host below the name that undeliverable mail returns to: so SPF aligns (RFC 9989 §4.4.2). */
  returnPathHostOf(domainName: string): string {
    return `${this.config.RETURN_PATH_LABEL}.${domainName}`;
  }

  /** All but those of its keys. */
  recordsOf(domainName: string): NewDnsRecord[] {
    const hosts = { bounceHost: this.config.BOUNCE_HOST, spfInclude: this.config.SPF_INCLUDE };
    const token = randomBytes(TOKEN_BYTES).toString('hex');
    return domainRecords(domainName, this.returnPathHostOf(domainName), token, hosts);
  }
}
