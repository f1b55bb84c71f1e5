import { isIP } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { type Config, CONFIG } from '#platform';
import { type DnsAnswer, verdictOf } from '../dns/dns-answer.js';
import { DnsReader } from '../dns/dns-reader.service.js';
import { failed, type RecordVerdict, verified } from '../dns/record-verdict.js';
import { publicHostOf } from './public-host.js';

/** Finds out whether a host points here: to the host of PUBLIC_URL by CNAME, or to no other addresses than it. */
@Injectable()
export class HostPointing {
  readonly #target: string;

  constructor(
    private readonly dns: DnsReader,
    @Inject(CONFIG) config: Pick<Config, 'PUBLIC_URL'>,
  ) {
    this.#target = publicHostOf(config);
  }

  async check(host: string): Promise<RecordVerdict> {
    const alias = await this.dns.cname(host);
    if (alias.kind === 'error') return verdictOf(alias);
    if (alias.kind === 'found' && alias.entries.some((name) => name.toLowerCase() === this.#target))
      return verified(alias.entries);
    const [found, ours] = await Promise.all([this.dns.everyAddress(host), this.#addresses()]);
    if (ours.kind !== 'found')
      return failed('DNS_ERROR', `of ${this.#target}, where it must lead: ${ours.reason}`);
    if (found.kind !== 'found') return verdictOf(found);
    const others = found.entries.filter((address) => !ours.entries.includes(address));
    if (others.length === 0) return verified(found.entries);
    return failed(
      'MISMATCH',
      `it leads to ${others.join(', ')} and must lead to ${this.#target}`,
      found.entries,
    );
  }

  async #addresses(): Promise<DnsAnswer<string>> {
    if (isIP(this.#target) !== 0) return { kind: 'found', entries: [this.#target] };
    return this.dns.everyAddress(this.#target);
  }
}
