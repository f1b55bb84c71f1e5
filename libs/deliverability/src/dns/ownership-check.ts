import type { NewDnsRecord } from './dns-record.js';
import { failed, type RecordVerdict, verified } from './record-verdict.js';

/** Whether one of the records is ours. Others may stand beside it: of another project, or of another environment. */
export function checkOwnership(found: readonly string[], expected: string): RecordVerdict {
  const ours = found.filter((text) => text.trim() === expected);
  if (ours.length > 0) return verified(ours);
  return failed('MISMATCH', 'the text is not the one that we gave you', found);
}

/** Two can both change a zone, an agency and its client; the domain is whose was verified first. */
export function asAnothers(
  { purpose }: Pick<NewDnsRecord, 'purpose'>,
  verdict: RecordVerdict,
): RecordVerdict {
  if (purpose !== 'OWNERSHIP' || verdict.status !== 'VERIFIED') return verdict;
  return failed('MISMATCH', 'another account has verified this domain', [verdict.actualValue]);
}
