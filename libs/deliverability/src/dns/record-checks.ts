import { getDomain } from 'tldts';
import { withTimeout } from '#kernel';
import { checkDmarc, dmarcRecords } from './dmarc-policy.js';
import type { DnsReaderService } from './dns-reader.service.js';
import type { NewDnsRecord } from './dns-record.js';
import {
  type DnsAnswer,
  failed,
  type MailExchange,
  parseTagList,
  type RecordVerdict,
  verdictOf,
  verified,
} from './record-verdict.js';
import { checkSpf } from './spf-check.js';

/** A record that a customer was asked to publish. */
export type ExpectedRecord = Pick<NewDnsRecord, 'purpose' | 'host' | 'expectedValue'>;

/** For all of a record's look-ups: the client who asked waits 15 s at most. */
const DEADLINE_MS = 10_000;
const SPF_INCLUDE = /(?:^| )include:(?<host>\S+)/;
const DMARC_LABEL = '_dmarc.';

/** Checks that an expected record stands in DNS. Never throws: without an answer it is a `DNS_ERROR`. Takes 10 s at most. */
export function checkRecord(dns: DnsReaderService, record: ExpectedRecord): Promise<RecordVerdict> {
  return withTimeout(verdictIn(dns, record), DEADLINE_MS, () =>
    failed('DNS_ERROR', 'the name servers did not answer in time'),
  );
}

async function verdictIn(
  dns: DnsReaderService,
  { purpose, host, expectedValue }: ExpectedRecord,
): Promise<RecordVerdict> {
  switch (purpose) {
    case 'OWNERSHIP':
      return judged(await dns.txt(host), (found) => checkOwnership(found, expectedValue));
    case 'DKIM':
      return judged(await dns.txt(host), (found) => checkDkim(found, expectedValue));
    case 'MX':
      return judged(await dns.mx(host), (found) => checkMx(found, expectedValue));
    case 'SPF':
      return spfVerdict(dns, host, expectedValue);
    case 'DMARC':
      return dmarcVerdict(dns, host);
  }
}

async function spfVerdict(
  dns: DnsReaderService,
  host: string,
  expectedValue: string,
): Promise<RecordVerdict> {
  const answer = await dns.txt(host);
  if (answer.kind !== 'found') return verdictOf(answer);
  return checkSpf(dns, host, answer.entries, SPF_INCLUDE.exec(expectedValue)?.groups?.['host'] ?? '');
}

/** A domain without a record of its own has that of the registered domain above it (RFC 9989 §4.10). */
async function dmarcVerdict(dns: DnsReaderService, host: string): Promise<RecordVerdict> {
  const answer = await dns.txt(host);
  const own = judged(answer, (found) => checkDmarc(found));
  if (own.status === 'VERIFIED' || own.code !== 'MISSING') return own;
  const domain = host.slice(DMARC_LABEL.length);
  const above = getDomain(domain);
  if (above === null || above === domain) return own;
  const inherited = await dns.txt(DMARC_LABEL + above);
  if (inherited.kind === 'error') return verdictOf(inherited);
  if (inherited.kind !== 'found' || dmarcRecords(inherited.entries).length === 0) return own;
  return fromAbove(checkDmarc(inherited.entries, 'sp'), above);
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

/** Checks that bounces go to the server of `expected` (`10 bounces.example`), and to it alone. */
function checkMx(found: readonly MailExchange[], expected: string): RecordVerdict {
  const wanted = expected.split(' ')[1];
  const actual = found.map(({ priority, exchange }) => `${priority} ${exchange === '' ? '.' : exchange}`);
  const others = found.filter(({ exchange }) => exchange.toLowerCase() !== wanted);
  if (others.length === found.length) return failed('MISMATCH', `the mail server must be ${wanted}`, actual);
  if (others.length > 0) return failed('MULTIPLE', `leave only the MX record of ${wanted}`, actual);
  return verified(actual);
}

/** Checks that one of the records is ours. Those of other projects and environments may stand beside it. */
function checkOwnership(found: readonly string[], expected: string): RecordVerdict {
  const ours = found.filter((text) => text.trim() === expected);
  if (ours.length > 0) return verified(ours);
  return failed('MISMATCH', 'the text is not the one that we gave you', found);
}

/** Checks that a selector publishes the key of `expected`, compared by content and not by spelling. */
function checkDkim(found: readonly string[], expected: string): RecordVerdict {
  const keys = found.filter(isKeyRecord);
  const [record] = keys;
  if (record === undefined) {
    return failed('MISMATCH', 'there is a TXT record, but it is no DKIM key', found);
  }
  // RFC 6376 §3.6.2.2: with several records the results are undefined.
  if (keys.length > 1)
    return failed('MULTIPLE', `there are ${keys.length} DKIM records; leave only ours`, keys);
  const tags = parseTagList(record);
  if (tags === null) return failed('SYNTAX', 'the record is not a list of tag=value parts', keys);
  const fault = faultOf(tags, parseTagList(expected) ?? new Map());
  if (fault !== null) return fault(keys);
  const isTesting = (tags.get('t') ?? '').split(':').some((flag) => flag.trim() === 'y');
  return verified(keys, isTesting ? 't=y says that the key is only being tested: take it out' : null);
}

type Fault = (actual: readonly string[]) => RecordVerdict;

/** RFC 6376 §3.6.1 */
function faultOf(tags: ReadonlyMap<string, string>, expected: ReadonlyMap<string, string>): Fault | null {
  const key = tags.get('p');
  if (key === undefined) return (actual) => failed('SYNTAX', 'the record has no p=', actual);
  const mismatch =
    (reason: string): Fault =>
    (actual) =>
      failed('MISMATCH', reason, actual);
  if (key === '') return mismatch('p= is empty, which revokes the key');
  if ((tags.get('v') ?? 'DKIM1') !== 'DKIM1') return mismatch('v= must be DKIM1');
  if ((tags.get('k') ?? 'rsa') !== expected.get('k')) return mismatch(`k= must be ${expected.get('k')}`);
  if (!allows(tags.get('h'), ['sha256'])) return mismatch('h= does not allow sha256');
  if (!allows(tags.get('s'), ['*', 'email'])) return mismatch('s= does not allow e-mail');
  return withoutSpaces(key) === withoutSpaces(expected.get('p') ?? '') ? null : differentKey(key, expected);
}

function differentKey(key: string, expected: ReadonlyMap<string, string>): Fault {
  const wanted = withoutSpaces(expected.get('p') ?? '');
  const isCut = wanted.startsWith(withoutSpaces(key));
  return (actual) =>
    failed(
      'MISMATCH',
      isCut ? 'the key after p= is cut off: enter all of it' : 'p= is another key than ours',
      actual,
    );
}

function isKeyRecord(text: string): boolean {
  return /^\s*v\s*=\s*DKIM1\b/.test(text) || /(?:^|;)\s*[kp]\s*=/.test(text);
}

function allows(list: string | undefined, wanted: readonly string[]): boolean {
  return list === undefined || list.split(':').some((entry) => wanted.includes(entry.trim()));
}

function withoutSpaces(text: string): string {
  return text.replaceAll(/\s/g, '');
}
