import { dkimRecord } from '../dkim/dkim-key.js';
import { DkimKeyPair, type DkimKeyState, type NewDkimKey } from '../dkim/dkim-key-pair.js';
import { DnsRecord } from '../dns/dns-record.js';

/** Keys of a domain in a state, with the records that publish them. */
export function recordsOfKeys(
  domain: { readonly id: number; readonly environmentId: number; readonly domainName: string },
  keys: readonly NewDkimKey[],
  state: DkimKeyState,
  now: Date,
): DnsRecord[] {
  return keys.map((made) => {
    const { selector, algorithm, publicKey } = made;
    const host = `${selector}._domainkey.${domain.domainName}`;
    const expectedValue = dkimRecord(algorithm, publicKey);
    const wanted = { purpose: 'DKIM', recordType: 'TXT', host, expectedValue } as const;
    return new DnsRecord(domain, wanted, new DkimKeyPair(domain, made, state, now));
  });
}

/** Whether new keys wait until their records are found. */
export function hasNextKeys(records: readonly DnsRecord[]): boolean {
  return nextKeys(records).length > 0;
}

/** Once new keys have all been found in DNS, they sign, and those that signed do no more. */
export function switchKeys(records: readonly DnsRecord[], now: Date): void {
  const next = nextKeys(records);
  if (next.length === 0 || !next.every(({ isRight }) => isRight)) return;
  for (const { key, isRequired } of records) if (isRequired) key?.switch(now);
}

/**
 * Whether mail counts as signed; null when that could not be found out. Few receivers know Ed25519 (RFC 8463): without
 * the RSA key, it counts as not signed.
 */
export function isSignatureKnown(records: readonly DnsRecord[], now: Date): boolean | null {
  const rsa = records.filter(({ key, isInForce }) => isInForce && key?.algorithm === 'rsa-sha256');
  if (rsa.some(({ isUnknown }) => isUnknown)) return null;
  return !rsa.some((record) => record.isBroken(now));
}

const nextKeys = (records: readonly DnsRecord[]) => records.filter(({ key }) => key?.state === 'NEXT');
