import { LRUCache } from 'lru-cache';
import { Injectable } from '@nestjs/common';
import { getDomain } from 'tldts';
import { Clock, withTimeout } from '#kernel';
import { type DmarcPolicy, dmarcPolicy, dmarcRecords } from './dmarc-policy.js';
import { DnsReaderService } from './dns-reader.service.js';

/** For all look-ups of a host: somebody waits for the answer. */
const DEADLINE_MS = 4_000;
const KEPT_MS = 60_000;
const KEPT = 1_000;

/** Answers of DNS about hosts, cached for a minute; `late` if there is none within 4 s. */
class AnswersInTime<Answer> {
  readonly #kept: LRUCache<string, { readonly until: number; readonly answer: Promise<Answer> }>;

  constructor(
    private readonly clock: Clock,
    private readonly look: (host: string) => Promise<Answer>,
    private readonly late: Answer,
  ) {
    this.#kept = new LRUCache({ max: KEPT });
  }

  of(host: string): Promise<Answer> {
    const now = this.clock.now().getTime();
    const kept = this.#kept.get(host);
    if (kept !== undefined && kept.until > now) return kept.answer;
    const answer = withTimeout(this.look(host), DEADLINE_MS, () => this.late);
    this.#kept.set(host, { until: now + KEPT_MS, answer });
    return answer;
  }
}

/** Looks up hosts of senders in DNS while a client waits, 4 s at most: null without an answer. */
@Injectable()
export class SenderHostsService {
  readonly #policies: AnswersInTime<DmarcPolicy | null>;
  readonly #receiving: AnswersInTime<boolean | null>;

  constructor(
    private readonly dns: DnsReaderService,
    clock: Clock,
  ) {
    this.#policies = new AnswersInTime(clock, (host) => this.#lookForPolicy(host), null);
    this.#receiving = new AnswersInTime(clock, (domain) => this.#lookForServers(domain), null);
  }

  /** The DMARC policy that rules the mail of a host; null also if there is none. */
  dmarcPolicyOf(host: string): Promise<DmarcPolicy | null> {
    return this.#policies.of(host);
  }

  /** True if mail to the domain has a server to go to. */
  canReceive(domain: string): Promise<boolean | null> {
    return this.#receiving.of(domain);
  }

  /** The host's own, else that of the domain highest above it that has one (RFC 9989 §4.10.1). */
  async #lookForPolicy(host: string): Promise<DmarcPolicy | null> {
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

  /** A domain receives by an MX record that is not null (RFC 7505), or without one by its address (RFC 5321 §5.1). */
  async #lookForServers(domain: string): Promise<boolean | null> {
    const exchanges = await this.dns.mx(domain);
    if (exchanges.kind === 'found') return exchanges.entries.some(({ exchange }) => !/^\.?$/.test(exchange));
    if (exchanges.kind !== 'missing') return exchanges.kind === 'broken' ? false : null;
    const addresses = await this.dns.everyAddress(domain);
    return addresses.kind === 'error' ? null : addresses.kind === 'found';
  }
}

/** The registered domain first, then those between it and the host. */
function domainsAbove(host: string): string[] {
  const registered = getDomain(host);
  if (registered === null || registered === host) return [];
  const between = host.slice(0, -registered.length - 1).split('.');
  return between.map((_, at) => [...between.slice(between.length - at), registered].join('.'));
}
