import { RECORD_PURPOSES, type RecordPurpose } from '../dns/dns-record.js';
import { kindRules, type RelayKind } from './kinds/kinds.js';
import type { RelaySigning, RelayStream } from './relay-terms.js';

/** The streams that mail is sent by: none is TRANSACTIONAL so far. */
const STREAMS_IN_USE: readonly RelayStream[] = ['OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TEST'];

/** What decides which records a relay's mail needs. */
export interface RelayMail {
  readonly kind: RelayKind;
  readonly signing: RelaySigning;
}

/** The records that mail by one relay needs: without our signature, nobody looks for our key. */
export function recordsOfRelay({ kind, signing }: RelayMail): readonly RecordPurpose[] {
  return kindRules(kind).dnsRecords.filter((purpose) => purpose !== 'DKIM' || signing === 'OWN');
}

/**
 * The records that the sending domain needs, whether its relays take mail now or not. The installation's relay needs all of
 * them, and takes what no relay of the project does.
 */
export function requiredRecords(
  relays: readonly (RelayMail & { readonly streams: readonly RelayStream[] })[],
): ReadonlySet<RecordPurpose> {
  const taken = new Set(relays.flatMap(({ streams }) => streams));
  return STREAMS_IN_USE.every((stream) => taken.has(stream))
    ? new Set<RecordPurpose>(['OWNERSHIP', ...relays.flatMap(recordsOfRelay)])
    : new Set(RECORD_PURPOSES);
}
