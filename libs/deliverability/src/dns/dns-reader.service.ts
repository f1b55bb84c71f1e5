import { Resolver } from 'node:dns/promises';
import { Inject, Injectable } from '@nestjs/common';
import { type Config, CONFIG } from '#platform';
import type { DnsAnswer, MailExchange } from './record-verdict.js';

const TIMEOUT_MS = 2_000;
const TRIES = 2;
/** Resolvers give up after 8 to 16; a zone that needs more is not well made. */
const MAX_CNAMES = 8;

/** c-ares' codes for a name without records: NXDOMAIN, and NOERROR without an answer. */
const MISSING: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name does not exist',
  ENODATA: 'there is no record of this type',
};
const ERRORS: Readonly<Record<string, string>> = {
  ESERVFAIL: 'the name server failed (SERVFAIL)',
  EREFUSED: 'the name server refused to answer (REFUSED)',
  ETIMEOUT: 'the name server did not answer in time',
  ECONNREFUSED: 'the name server cannot be reached',
};

type Lookup<Entry> = (host: string) => Promise<readonly Entry[]>;

/** Looks records up, through the servers of `DNS_SERVERS` or the system's. Nothing is cached; CNAMEs are followed. */
@Injectable()
export class DnsReaderService {
  readonly #resolver: Resolver;

  constructor(@Inject(CONFIG) { DNS_SERVERS }: Pick<Config, 'DNS_SERVERS'>) {
    this.#resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
    if (DNS_SERVERS !== undefined) this.#resolver.setServers(DNS_SERVERS);
  }

  /** Each record with its strings joined (RFC 7208 §3.3, RFC 6376 §3.6.2.2). */
  txt(host: string): Promise<DnsAnswer<string>> {
    return this.#look(host, async (name) =>
      (await this.#resolver.resolveTxt(name)).map((strings) => strings.join('')),
    );
  }

  mx(host: string): Promise<DnsAnswer<MailExchange>> {
    return this.#look(host, async (name) =>
      (await this.#resolver.resolveMx(name)).map(({ exchange, priority }) => ({ exchange, priority })),
    );
  }

  /** IPv4 addresses, or else IPv6 ones. */
  async addresses(host: string): Promise<DnsAnswer<string>> {
    const v4 = await this.#look(host, (name) => this.#resolver.resolve4(name));
    return v4.kind === 'missing' ? this.#look(host, (name) => this.#resolver.resolve6(name)) : v4;
  }

  /** IPv4 and IPv6 addresses, all of them. */
  async everyAddress(host: string): Promise<DnsAnswer<string>> {
    const answers = [
      await this.#look(host, (name) => this.#resolver.resolve4(name)),
      await this.#look(host, (name) => this.#resolver.resolve6(name)),
    ];
    const entries = answers.flatMap((answer) => (answer.kind === 'found' ? answer.entries : []));
    const open = answers.find(({ kind }) => kind === 'error' || kind === 'broken');
    return open ?? (entries.length > 0 ? { kind: 'found', entries } : answers[0]!);
  }

  /** True if the name exists, with whatever records (RFC 8020); null if DNS does not answer. */
  async exists(host: string): Promise<boolean | null> {
    const answer = await ask(host, (name) => this.#resolver.resolve4(name));
    if (answer.kind === 'missing') return answer.reason !== MISSING['ENOTFOUND'];
    return answer.kind === 'found' ? true : null;
  }

  /** The host's alias. */
  cname(host: string): Promise<DnsAnswer<string>> {
    return ask(host, (name) => this.#resolver.resolveCname(name));
  }

  async #look<Entry>(host: string, lookup: Lookup<Entry>): Promise<DnsAnswer<Entry>> {
    const seen = new Set<string>();
    for (let name = host.toLowerCase(); ;) {
      if (seen.has(name)) return { kind: 'broken', reason: `the CNAMEs lead in a circle, back to ${name}` };
      if (seen.size > MAX_CNAMES)
        return { kind: 'broken', reason: `there are more than ${MAX_CNAMES} CNAMEs in a row` };
      seen.add(name);
      const answer = await ask(name, lookup);
      if (answer.kind !== 'missing') return answer;
      const alias = await ask(name, (each) => this.#resolver.resolveCname(each));
      if (alias.kind === 'error') return alias;
      const target = alias.kind === 'found' ? alias.entries[0] : undefined;
      if (target === undefined)
        return seen.size === 1
          ? answer
          : { kind: 'missing', reason: `the CNAME leads to ${name}, where ${answer.reason}` };
      name = target.toLowerCase();
    }
  }
}

async function ask<Entry>(name: string, lookup: Lookup<Entry>): Promise<DnsAnswer<Entry>> {
  try {
    const entries = await lookup(name);
    return entries.length > 0 ? { kind: 'found', entries } : { kind: 'missing', reason: MISSING['ENODATA']! };
  } catch (error) {
    const code =
      typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown';
    const missing = MISSING[code];
    if (missing !== undefined) return { kind: 'missing', reason: missing };
    return { kind: 'error', reason: ERRORS[code] ?? `the look-up failed (${code})` };
  }
}
