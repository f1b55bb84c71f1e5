import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type Config, CONFIG } from '#platform';
import type { NewDnsRecord, RecordPurpose } from '../dns/dns-record.js';

const TOKEN_BYTES = 20;

/** Says what the owner of a new domain, or of a new name, has to publish. */
@Injectable()
export class DomainRecordsMaker {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  /** The host below the name that undeliverable mail returns to: so SPF aligns (RFC 9989 §4.4.2). */
  returnPathHostOf(domainName: string): string {
    return `${this.config.RETURN_PATH_LABEL}.${domainName}`;
  }

  /** What proves the domain and brings its bounces back: all but the records of its keys. */
  recordsOf(domainName: string): NewDnsRecord[] {
    const { BOUNCE_HOST, SPF_INCLUDE } = this.config;
    const token = randomBytes(TOKEN_BYTES).toString('hex');
    const returnPathHost = this.returnPathHostOf(domainName);
    return [
      txt('OWNERSHIP', `_mailwright.${domainName}`, `mailwright-verification=${token}`),
      txt('SPF', returnPathHost, `v=spf1 include:${SPF_INCLUDE} ~all`),
      { purpose: 'MX', recordType: 'MX', host: returnPathHost, expectedValue: `10 ${BOUNCE_HOST}` },
      txt('DMARC', `_dmarc.${domainName}`, 'v=DMARC1; p=none'),
    ];
  }
}

const txt = (purpose: RecordPurpose, host: string, expectedValue: string): NewDnsRecord => ({
  purpose,
  recordType: 'TXT',
  host,
  expectedValue,
});
