import { Injectable } from '@nestjs/common';
import { getDomain } from 'tldts';
import { Clock } from '#kernel';
import { AnswersInTime } from './answers-in-time.js';
import { dmarcRecords } from './dmarc-check.js';
import { type DmarcPolicy, dmarcPolicy } from './dmarc-policy.js';
import { DnsReader } from './dns-reader.service.js';

/** Looks up what DMARC policy rules the mail of a host. */
@Injectable()
export class DmarcPolicies {
  readonly #answers: AnswersInTime<DmarcPolicy | null>;

  constructor(
    private readonly dns: DnsReader,
    clock: Clock,
  ) {
    this.#answers = new AnswersInTime(clock, (host) => this.#look(host), null);
  }

  /** Null when there is none, or it cannot be found out. Takes 4 s at most. */
  of(host: string): Promise<DmarcPolicy | null> {
    return this.#answers.of(host);
  }

  /** The host's own, else that of the domain highest above it that has one (RFC 9989 §4.10.1). */
  async #look(host: string): Promise<DmarcPolicy | null> {
    for (const domain of [host, ...domainsAbove(host)]) {
      const answer = await this.dns.txt(`_dmarc.${domain}`);
      if (answer.kind === 'error') return null;
      const records = answer.kind === 'found' ? dmarcRecords(answer.entries) : [];
      const [record] = records;
      if (record === undefined) continue;
      const exists = domain === host || (await this.dns.exists(host));
      return records.length > 1 || exists === null ? null : dmarcPolicy(record, domain, { host, exists });
    }
    return null;
  }
}

/** The registered domain first, then those between it and the host. */
function domainsAbove(host: string): string[] {
  const registered = getDomain(host);
  if (registered === null || registered === host) return [];
  const between = host.slice(0, -registered.length - 1).split('.');
  return between.map((_, at) => [...between.slice(between.length - at), registered].join('.'));
}
