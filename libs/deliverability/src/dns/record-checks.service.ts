import { Injectable } from '@nestjs/common';
import { getDomain } from 'tldts';
import { withTimeout } from '#kernel';
import { checkDkim } from './dkim-check.js';
import { checkDmarc, dmarcRecords } from './dmarc-check.js';
import { type DnsAnswer, verdictOf } from './dns-answer.js';
import { DnsReader } from './dns-reader.service.js';
import type { NewDnsRecord } from './dns-record.js';
import { checkMx } from './mx-check.js';
import { checkOwnership } from './ownership-check.js';
import { failed, type RecordVerdict } from './record-verdict.js';
import { SpfCheck } from './spf-check.service.js';

/** What a customer was asked to publish. */
export type ExpectedRecord = Pick<NewDnsRecord, 'purpose' | 'host' | 'expectedValue'>;

/** For all of a record's look-ups: the client who asked waits 15 s at most. */
const DEADLINE_MS = 10_000;
const SPF_INCLUDE = /(?:^| )include:(?<host>\S+)/;
const DMARC_LABEL = '_dmarc.';

/** Looks whether what was asked for stands in DNS. */
@Injectable()
export class RecordChecks {
  constructor(
    private readonly dns: DnsReader,
    private readonly spf: SpfCheck,
  ) {}

  /** Never throws: what cannot be found out is a `DNS_ERROR`. Takes 10 s at most. */
  check(record: ExpectedRecord): Promise<RecordVerdict> {
    return withTimeout(this.#check(record), DEADLINE_MS, () =>
      failed('DNS_ERROR', 'the name servers did not answer in time'),
    );
  }

  async #check({ purpose, host, expectedValue }: ExpectedRecord): Promise<RecordVerdict> {
    switch (purpose) {
      case 'OWNERSHIP':
        return judged(await this.dns.txt(host), (found) => checkOwnership(found, expectedValue));
      case 'DKIM':
        return judged(await this.dns.txt(host), (found) => checkDkim(found, expectedValue));
      case 'MX':
        return judged(await this.dns.mx(host), (found) => checkMx(found, expectedValue));
      case 'SPF':
        return this.#spf(host, expectedValue);
      case 'DMARC':
        return this.#dmarc(host);
    }
  }

  async #spf(host: string, expectedValue: string): Promise<RecordVerdict> {
    const answer = await this.dns.txt(host);
    if (answer.kind !== 'found') return verdictOf(answer);
    return this.spf.check(host, answer.entries, SPF_INCLUDE.exec(expectedValue)?.groups?.['host'] ?? '');
  }

  /** A domain without a record of its own has that of the registered domain above it (RFC 9989 §4.10). */
  async #dmarc(host: string): Promise<RecordVerdict> {
    const answer = await this.dns.txt(host);
    const own = judged(answer, (found) => checkDmarc(found));
    if (own.status === 'VERIFIED' || own.code !== 'MISSING') return own;
    const domain = host.slice(DMARC_LABEL.length);
    const above = getDomain(domain);
    if (above === null || above === domain) return own;
    const inherited = await this.dns.txt(DMARC_LABEL + above);
    if (inherited.kind === 'error') return verdictOf(inherited);
    if (inherited.kind !== 'found' || dmarcRecords(inherited.entries).length === 0) return own;
    return fromAbove(checkDmarc(inherited.entries, 'sp'), above);
  }
}

function judged<Entry>(
  answer: DnsAnswer<Entry>,
  judge: (found: readonly Entry[]) => RecordVerdict,
): RecordVerdict {
  return answer.kind === 'found' ? judge(answer.entries) : verdictOf(answer);
}

function fromAbove(verdict: RecordVerdict, domain: string): RecordVerdict {
  if (verdict.status === 'FAILED')
    return { ...verdict, reason: `at ${DMARC_LABEL}${domain}: ${verdict.reason}` };
  const source = `the policy comes from ${DMARC_LABEL}${domain}`;
  return { ...verdict, note: verdict.note === null ? source : `${source}; ${verdict.note}` };
}
