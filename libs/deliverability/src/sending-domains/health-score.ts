import { tellsDmarcFault } from '../dns/dmarc-check.js';
import type { DnsRecord, RecordPurpose } from '../dns/dns-record.js';

/** What each kind of record is worth when it is right; together 100. */
const WEIGHTS: Readonly<Record<RecordPurpose, number>> = {
  DKIM: 40,
  SPF: 20,
  DMARC: 20,
  MX: 10,
  OWNERSHIP: 10,
};
/** Taken off for a record that is right and could do harm: DMARC's adkim=s with aspf=s, DKIM's t=y. */
const FAULT_COSTS = 5;

/** 0 to 100; docs/sending-domains.md has the formula. Several records of a kind share its worth; kinds that are not there take none. */
export function healthScore(records: readonly DnsRecord[]): number {
  const inForce = records.filter(({ isInForce }) => isInForce);
  const score = inForce.reduce((sum, { purpose, status, note }) => {
    const ofKind = inForce.filter((other) => other.purpose === purpose).length;
    const hasFault = purpose === 'DMARC' ? tellsDmarcFault(note) : note !== null;
    const worth = WEIGHTS[purpose] - (hasFault ? FAULT_COSTS : 0);
    return sum + (status === 'VERIFIED' ? worth / ofKind : 0);
  }, 0);
  const best = [...new Set(inForce.map(({ purpose }) => purpose))].reduce(
    (sum, kind) => sum + WEIGHTS[kind],
    0,
  );
  return Math.round((100 * score) / best);
}
