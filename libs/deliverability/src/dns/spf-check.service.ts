import { Injectable } from '@nestjs/common';
import type { DnsAnswer } from './dns-answer.js';
import { DnsReader } from './dns-reader.service.js';
import { failed, type FailureCode, type RecordVerdict, verified } from './record-verdict.js';
import { parseSpf, type SpfMechanism, type SpfRecord, spfRecords } from './spf-record.js';

/** RFC 7208 §4.6.4 */
const MAX_LOOKUPS = 10;
const MAX_VOID_LOOKUPS = 2;
const MAX_MAIL_EXCHANGES = 10;

interface Fault {
  readonly code: FailureCode;
  readonly reason: string;
}

/** What following one record has cost, and whether it came past our include. */
interface Evaluation {
  readonly ourHost: string;
  lookups: number;
  voidLookups: number;
  isOursReached: boolean;
}

/** Checks SPF records, and what they include as a receiver would. */
@Injectable()
export class SpfCheck {
  constructor(private readonly dns: DnsReader) {}

  /** `found` are the TXT records of `host`; `ourHost` is what one of them must include. */
  async check(host: string, found: readonly string[], ourHost: string): Promise<RecordVerdict> {
    const records = spfRecords(found);
    const [text] = records;
    if (text === undefined) {
      const looksMeant = found.some((each) => /spf/i.test(each));
      return looksMeant
        ? failed('SYNTAX', 'the record must begin with v=spf1 and a space', found)
        : failed('MISSING', 'there is no SPF record among the TXT records', found);
    }
    // RFC 7208 §4.5: several records are a permanent error.
    if (records.length > 1)
      return failed('MULTIPLE', `there are ${records.length} SPF records; leave one`, records);
    const parsed = parseSpf(text);
    if ('fault' in parsed) return failed('SYNTAX', parsed.fault, records);
    const evaluation: Evaluation = { ourHost, lookups: 0, voidLookups: 0, isOursReached: false };
    const fault = await this.#follow(host, parsed.record, evaluation, true);
    if (fault !== null) return failed(fault.code, fault.reason, records);
    if (!evaluation.isOursReached)
      return failed('MISMATCH', `the record does not have include:${ourHost}`, records);
    return verified(records);
  }

  /** `mayPass`: whether a match below here makes the whole record pass. */
  async #follow(
    host: string,
    record: SpfRecord,
    evaluation: Evaluation,
    mayPass: boolean,
  ): Promise<Fault | null> {
    for (const mechanism of record.mechanisms) {
      // What stands behind `all` is never reached (RFC 7208 §5.1).
      if (mechanism.name === 'all') return null;
      const fault = await this.#look(host, mechanism, evaluation, mayPass && mechanism.qualifier === '+');
      if (fault !== null) return fault;
    }
    return record.redirect === null ? null : this.#include('redirect=', record.redirect, evaluation, mayPass);
  }

  async #look(
    domain: string,
    { name, host }: SpfMechanism,
    evaluation: Evaluation,
    mayPass: boolean,
  ): Promise<Fault | null> {
    if (name === 'include') return this.#include('include:', host ?? '', evaluation, mayPass);
    if (name !== 'a' && name !== 'mx' && name !== 'ptr' && name !== 'exists') return null;
    const fault = count(evaluation);
    const target = host ?? domain;
    // ptr and macros are about the sender's address, which is not known here.
    if (fault !== null || name === 'ptr' || target.includes('%')) return fault;
    if (name !== 'mx') return faultOf(await this.dns.addresses(target), target, evaluation);
    const exchanges = await this.dns.mx(target);
    if (exchanges.kind === 'found' && exchanges.entries.length > MAX_MAIL_EXCHANGES)
      return tooMany(`${target} has more than ${MAX_MAIL_EXCHANGES} mail servers`);
    return faultOf(exchanges, target, evaluation);
  }

  async #include(
    term: string,
    host: string,
    evaluation: Evaluation,
    mayPass: boolean,
  ): Promise<Fault | null> {
    const fault = count(evaluation);
    if (fault !== null || host.includes('%')) return fault;
    const isOurs = host.toLowerCase() === evaluation.ourHost;
    if (isOurs && mayPass) evaluation.isOursReached = true;
    const inner = await this.#recordOf(term, host, evaluation);
    // That our own host has a good record is the operator's matter, not the customer's.
    if ('code' in inner) return isOurs ? null : inner;
    return this.#follow(host, inner, evaluation, mayPass);
  }

  /** RFC 7208 §5.2, §6.1: an include without exactly one good record is a permanent error. */
  async #recordOf(term: string, host: string, evaluation: Evaluation): Promise<SpfRecord | Fault> {
    const answer = await this.dns.txt(host);
    if (answer.kind === 'error') return { code: 'DNS_ERROR', reason: `${term}${host}: ${answer.reason}` };
    if (answer.kind === 'missing' && host.toLowerCase() !== evaluation.ourHost) evaluation.voidLookups += 1;
    const records = answer.kind === 'found' ? spfRecords(answer.entries) : [];
    const [text] = records;
    if (text === undefined) return { code: 'SYNTAX', reason: `${term}${host}: there is no SPF record` };
    if (records.length > 1)
      return { code: 'SYNTAX', reason: `${term}${host}: there is more than one SPF record` };
    const parsed = parseSpf(text);
    return 'fault' in parsed ? { code: 'SYNTAX', reason: `${term}${host}: ${parsed.fault}` } : parsed.record;
  }
}

function count(evaluation: Evaluation): Fault | null {
  evaluation.lookups += 1;
  return evaluation.lookups > MAX_LOOKUPS
    ? tooMany(`the record needs more than ${MAX_LOOKUPS} DNS look-ups`)
    : null;
}

function faultOf(answer: DnsAnswer<unknown>, host: string, evaluation: Evaluation): Fault | null {
  if (answer.kind === 'error') return { code: 'DNS_ERROR', reason: `${host}: ${answer.reason}` };
  if (answer.kind === 'found') return null;
  evaluation.voidLookups += 1;
  return evaluation.voidLookups > MAX_VOID_LOOKUPS
    ? tooMany(`more than ${MAX_VOID_LOOKUPS} of the hosts that it names do not exist`)
    : null;
}

function tooMany(reason: string): Fault {
  return { code: 'SPF_TOO_MANY_LOOKUPS', reason };
}
