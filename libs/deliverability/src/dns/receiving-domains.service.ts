import { Injectable } from '@nestjs/common';
import { Clock } from '#kernel';
import { AnswersInTime } from './answers-in-time.js';
import { DnsReader } from './dns-reader.service.js';

/** Looks up whether mail to a domain has anywhere to go. */
@Injectable()
export class ReceivingDomains {
  readonly #answers: AnswersInTime<boolean | null>;

  constructor(
    private readonly dns: DnsReader,
    clock: Clock,
  ) {
    this.#answers = new AnswersInTime(clock, (domain) => this.#look(domain), null);
  }

  /** Null when it cannot be found out. Takes 4 s at most. */
  canReceive(domain: string): Promise<boolean | null> {
    return this.#answers.of(domain);
  }

  /** By an MX record that is no null one (RFC 7505), or by an address where there is none (RFC 5321 §5.1). */
  async #look(domain: string): Promise<boolean | null> {
    const exchanges = await this.dns.mx(domain);
    if (exchanges.kind === 'found') return exchanges.entries.some(({ exchange }) => !/^\.?$/.test(exchange));
    if (exchanges.kind !== 'missing') return exchanges.kind === 'broken' ? false : null;
    const addresses = await this.dns.everyAddress(domain);
    return addresses.kind === 'error' ? null : addresses.kind === 'found';
  }
}
