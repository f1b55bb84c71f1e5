import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { getDomain } from 'tldts';
import { Clock } from '#kernel';
import { dmarcRecords } from './dmarc-check.js';
import { type DmarcPolicy, dmarcPolicy } from './dmarc-policy.js';
import { DnsReader } from './dns-reader.service.js';

/** For all look-ups of a host: somebody waits for the answer. */
const DEADLINE_MS = 4_000;
const KEPT_MS = 60_000;
const KEPT = 1_000;

/** Looks up what DMARC policy rules the mail of a host. What was found is kept for a minute. */
@Injectable()
export class DmarcPolicies {
  readonly #kept = new Map<
    string,
    { readonly until: number; readonly policy: Promise<DmarcPolicy | null> }
  >();

  constructor(
    @Inject(DnsReader) private readonly dns: DnsReader,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Null when there is none, or it cannot be found out. Takes 4 s at most. */
  of(host: string): Promise<DmarcPolicy | null> {
    const now = this.clock.now().getTime();
    const kept = this.#kept.get(host);
    if (kept !== undefined && kept.until > now) return kept.policy;
    for (const oldest of [...this.#kept.keys()].slice(0, Math.max(0, this.#kept.size + 1 - KEPT)))
      this.#kept.delete(oldest);
    const policy = this.#inTime(host);
    this.#kept.set(host, { until: now + KEPT_MS, policy });
    return policy;
  }

  async #inTime(host: string): Promise<DmarcPolicy | null> {
    const deadline = new AbortController();
    const late = delay(DEADLINE_MS, null, { signal: deadline.signal });
    try {
      return await Promise.race([this.#look(host), late]);
    } finally {
      late.catch(() => undefined);
      deadline.abort();
    }
  }

  /** The host's own, else that of the domain highest above it that has one (RFC 9989 §4.10.1). */
  async #look(host: string): Promise<DmarcPolicy | null> {
    for (const domain of [host, ...domainsAbove(host)]) {
      const answer = await this.dns.txt(`_dmarc.${domain}`);
      if (answer.kind === 'error') return null;
      const records = answer.kind === 'found' ? dmarcRecords(answer.entries) : [];
      const [record] = records;
      if (record !== undefined) return records.length > 1 ? null : dmarcPolicy(record, domain, host);
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
