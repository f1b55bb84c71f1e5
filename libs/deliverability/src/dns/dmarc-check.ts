import { failed, type RecordVerdict, verified } from './record-verdict.js';
import { dmarcPolicy } from './dmarc-policy.js';
import { parseTagList } from './tag-list.js';

const POLICIES = ['none', 'quarantine', 'reject'];
const POLICY_NOTE =
  'p=none asks receivers to do nothing about forged mail: go to p=quarantine or p=reject when your reports look right';

/** Harmless for mail from the domain itself, whose signature names it. */
const STRICT_NOTE =
  'adkim=s with aspf=s fails mail from a host below the domain: let it come from the domain itself, or take one of the two out';

/** A note of `checkDmarc` without what is of no concern to mail from the domain itself; null when nothing is left. */
export function noteForDomainItself(note: string | null): string | null {
  const rest = (note ?? '').split('; ').filter((part) => part !== '' && part !== STRICT_NOTE);
  return rest.length === 0 ? null : rest.join('; ');
}

/** The records that are DMARC's; others at the host are to be ignored (RFC 9989 §4.10). */
export function dmarcRecords(found: readonly string[]): readonly string[] {
  return found.filter((text) => /^\s*v\s*=\s*DMARC1\s*(?:;|$)/.test(text));
}

/**
 * Whether there is one valid policy (RFC 9989 §4.7), whichever it is. `policyTag` is what rules the domain: p, or
 * sp in a record that it inherits.
 */
export function checkDmarc(found: readonly string[], policyTag: 'p' | 'sp' = 'p'): RecordVerdict {
  const records = dmarcRecords(found);
  const [record] = records;
  if (record === undefined) {
    const looksMeant = found.some((text) => /dmarc/i.test(text));
    return failed(
      looksMeant ? 'SYNTAX' : 'MISSING',
      looksMeant ? 'the record must begin with v=DMARC1;' : 'there is no DMARC record among the TXT records',
      found,
    );
  }
  // RFC 9989 §4.10: with several records none applies.
  if (records.length > 1)
    return failed('MULTIPLE', `there are ${records.length} DMARC records; leave one`, records);
  const tags = parseTagList(record);
  if (tags === null) return failed('SYNTAX', 'the record is not a list of tag=value parts', records);
  const policy = policyOf(tags, policyTag);
  if (policy === undefined) return failed('SYNTAX', 'the record has neither p= nor rua=', records);
  if (!POLICIES.includes(policy))
    return failed('SYNTAX', `p= must be one of ${POLICIES.join(', ')}`, records);
  return verified(records, notesOf(record, policy));
}

function notesOf(record: string, policy: string): string | null {
  const rule = dmarcPolicy(record, '', '');
  const notes = [
    ...(policy === 'none' ? [POLICY_NOTE] : []),
    ...(rule?.strictDkim === true && rule.strictSpf ? [STRICT_NOTE] : []),
  ];
  return notes.length === 0 ? null : notes.join('; ');
}

/** Without p=, a record that names a place for reports counts as p=none (RFC 9989 §4.7). */
function policyOf(tags: ReadonlyMap<string, string>, policyTag: 'p' | 'sp'): string | undefined {
  const policy = (policyTag === 'sp' ? tags.get('sp') : undefined) ?? tags.get('p');
  return policy?.toLowerCase() ?? (tags.has('rua') ? 'none' : undefined);
}
