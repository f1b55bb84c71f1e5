import { isIPv4, isIPv6 } from 'node:net';
import type { DnsReaderService } from './dns-reader.service.js';
import { type DnsAnswer, failed, type FailureCode, type RecordVerdict, verified } from './record-verdict.js';

/** RFC 7208 §4.6.4 */
const MAX_LOOKUPS = 10;
const MAX_VOID_LOOKUPS = 2;
const MAX_MAIL_EXCHANGES = 10;

interface Fault {
  readonly code: FailureCode;
  readonly reason: string;
}

/** The look-ups that evaluate SPF. */
type SpfDns = Pick<DnsReaderService, 'txt' | 'mx' | 'addresses'>;

/** State of following one record: its cost so far, and whether our include was passed. */
interface Evaluation {
  readonly dns: SpfDns;
  readonly ourHost: string;
  lookups: number;
  voidLookups: number;
  isOursReached: boolean;
}

/**
 * Checks an SPF record, and the ones that it includes, as a receiver would. `found` are the TXT records of `host`; one of them
 * must include `ourHost`.
 */
export async function checkSpf(
  dns: SpfDns,
  host: string,
  found: readonly string[],
  ourHost: string,
): Promise<RecordVerdict> {
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
  const evaluation: Evaluation = { dns, ourHost, lookups: 0, voidLookups: 0, isOursReached: false };
  const fault = await follow(host, parsed.record, evaluation, true);
  if (fault !== null) return failed(fault.code, fault.reason, records);
  if (!evaluation.isOursReached)
    return failed('MISMATCH', `the record does not have include:${ourHost}`, records);
  return verified(records);
}

/** `mayPass`: a match below here makes the whole record pass. */
async function follow(
  host: string,
  record: SpfRecord,
  evaluation: Evaluation,
  mayPass: boolean,
): Promise<Fault | null> {
  for (const mechanism of record.mechanisms) {
    // Terms after `all` are never reached (RFC 7208 §5.1).
    if (mechanism.name === 'all') return null;
    const fault = await followMechanism(host, mechanism, evaluation, mayPass && mechanism.qualifier === '+');
    if (fault !== null) return fault;
  }
  return record.redirect === null ? null : include('redirect=', record.redirect, evaluation, mayPass);
}

async function followMechanism(
  domain: string,
  { name, host }: SpfMechanism,
  evaluation: Evaluation,
  mayPass: boolean,
): Promise<Fault | null> {
  if (name === 'include') return include('include:', host ?? '', evaluation, mayPass);
  if (name !== 'a' && name !== 'mx' && name !== 'ptr' && name !== 'exists') return null;
  const fault = count(evaluation);
  const target = host ?? domain;
  // ptr and macros are about the sender's address, which is not known here.
  if (fault !== null || name === 'ptr' || target.includes('%')) return fault;
  if (name !== 'mx') return faultOf(await evaluation.dns.addresses(target), target, evaluation);
  const exchanges = await evaluation.dns.mx(target);
  if (exchanges.kind === 'found' && exchanges.entries.length > MAX_MAIL_EXCHANGES)
    return tooMany(`${target} has more than ${MAX_MAIL_EXCHANGES} mail servers`);
  return faultOf(exchanges, target, evaluation);
}

async function include(
  term: string,
  host: string,
  evaluation: Evaluation,
  mayPass: boolean,
): Promise<Fault | null> {
  const fault = count(evaluation);
  if (fault !== null || host.includes('%')) return fault;
  const isOurs = host.toLowerCase() === evaluation.ourHost;
  if (isOurs && mayPass) evaluation.isOursReached = true;
  const inner = await recordOf(term, host, evaluation);
  // The record of our own host is the operator's matter, not the customer's.
  if ('code' in inner) return isOurs ? null : inner;
  return follow(host, inner, evaluation, mayPass);
}

/** RFC 7208 §5.2, §6.1: an include without exactly one good record is a permanent error. */
async function recordOf(term: string, host: string, evaluation: Evaluation): Promise<SpfRecord | Fault> {
  const answer = await evaluation.dns.txt(host);
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

const MECHANISMS = ['all', 'include', 'a', 'mx', 'ptr', 'ip4', 'ip6', 'exists'] as const;
type MechanismName = (typeof MECHANISMS)[number];

/** A mechanism of an SPF record (RFC 7208 §5). */
export interface SpfMechanism {
  readonly qualifier: '+' | '-' | '~' | '?';
  readonly name: MechanismName;
  /** The host that it names, without a final dot; null for the domain itself. May hold macros. */
  readonly host: string | null;
}

export interface SpfRecord {
  readonly mechanisms: readonly SpfMechanism[];
  /** Followed only when there is no `all` (RFC 7208 §6.1). */
  readonly redirect: string | null;
}

export type ParsedSpf = { readonly record: SpfRecord } | { readonly fault: string };

const MECHANISM = /^(?<qualifier>[+?~-])?(?<name>[a-z0-9]+)(?<rest>[:/].*)?$/i;
const MODIFIER = /^(?<name>[a-z][a-z0-9._-]*)=(?<value>\S*)$/i;
const LABEL = /^[A-Za-z0-9_-]{1,63}$/;
/** RFC 7208 §7.1; macros have values only while a mail is received. */
const WITH_MACROS = /^[A-Za-z0-9%{}_.+=,-]+$/;
const V4_LENGTH = '(?:3[0-2]|[12]?[0-9])';
const V6_LENGTH = '(?:12[0-8]|1[01][0-9]|[0-9]{1,2})';
const DUAL_LENGTH = new RegExp(`^(?<host>[^/]*?)(?:/${V4_LENGTH})?(?://${V6_LENGTH})?$`);
const V4_NETWORK = new RegExp(`^(?<address>[^/]+)(?:/${V4_LENGTH})?$`);
const V6_NETWORK = new RegExp(`^(?<address>[^/]+)(?:/${V6_LENGTH})?$`);

/** The records that are SPF's (RFC 7208 §4.5). */
export function spfRecords(found: readonly string[]): readonly string[] {
  return found.filter((text) => /^v=spf1(?: |$)/i.test(text.trim()));
}

/** Reads a record that begins with v=spf1. */
export function parseSpf(text: string): ParsedSpf {
  const mechanisms: SpfMechanism[] = [];
  const modifiers = new Map<string, string>();
  for (const term of text.trim().split(/ +/).slice(1)) {
    const { name, value } = MODIFIER.exec(term)?.groups ?? {};
    if (name !== undefined && value !== undefined) {
      const isTwice = modifiers.has(name.toLowerCase()) && /^(?:redirect|exp)$/i.test(name);
      if (isTwice) return { fault: `there are two ${name}=` };
      modifiers.set(name.toLowerCase(), value);
      continue;
    }
    const mechanism = parseMechanism(term);
    if (mechanism === null) return { fault: `"${term}" is not a part of SPF` };
    mechanisms.push(mechanism);
  }
  const redirect = modifiers.get('redirect') ?? null;
  if (redirect !== null && !isHost(redirect)) return { fault: 'redirect= names no host' };
  const hasAll = mechanisms.some(({ name }) => name === 'all');
  return { record: { mechanisms, redirect: hasAll || redirect === null ? null : withoutFinalDot(redirect) } };
}

function parseMechanism(term: string): SpfMechanism | null {
  const { qualifier = '+', name: written = '', rest = '' } = MECHANISM.exec(term)?.groups ?? {};
  const name = MECHANISMS.find((known) => known === written.toLowerCase());
  if (name === undefined) return null;
  const host = hostOf(name, rest);
  if (host === undefined) return null;
  const named = host === null ? null : withoutFinalDot(host);
  return { name, host: named, qualifier: qualifier as SpfMechanism['qualifier'] };
}

/** The host of a mechanism, or undefined when it may not be written so. `rest` begins with its colon or slash. */
function hostOf(name: MechanismName, rest: string): string | null | undefined {
  const value = rest.startsWith(':') ? rest.slice(1) : '';
  switch (name) {
    case 'all':
      return rest === '' ? null : undefined;
    case 'ip4':
      return isIPv4(V4_NETWORK.exec(value)?.groups?.['address'] ?? '') ? null : undefined;
    case 'ip6':
      return isIPv6(V6_NETWORK.exec(value)?.groups?.['address'] ?? '') ? null : undefined;
    case 'include':
    case 'exists':
      return isHost(value) ? value : undefined;
    case 'ptr':
      return rest === '' ? null : isHost(value) ? value : undefined;
    default:
      return withLengths(rest);
  }
}

/** The host of `a` and `mx`, which may have a host, prefix lengths, or both. */
function withLengths(rest: string): string | null | undefined {
  if (!rest.startsWith(':')) return DUAL_LENGTH.exec(rest)?.groups?.['host'] === '' ? null : undefined;
  const host = DUAL_LENGTH.exec(rest.slice(1))?.groups?.['host'] ?? '';
  return isHost(host) ? host : undefined;
}

/** `spf.example.` is `spf.example`: the dot is allowed (RFC 7208 §7.1). */
function withoutFinalDot(host: string): string {
  return host.replace(/\.$/, '');
}

function isHost(text: string): boolean {
  if (text.length > 253) return false;
  if (text.includes('%')) return WITH_MACROS.test(text);
  return withoutFinalDot(text)
    .split('.')
    .every((label) => LABEL.test(label));
}
