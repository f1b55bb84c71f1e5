import { failed, type RecordVerdict, verified } from './record-verdict.js';
import { parseTagList } from './tag-list.js';

/** Whether a selector publishes the key of `expected`, compared by what it says and not by how it is written. */
export function checkDkim(found: readonly string[], expected: string): RecordVerdict {
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
