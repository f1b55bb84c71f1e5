export const DKIM_ALGORITHMS = ['rsa-sha256', 'ed25519-sha256'] as const;
/** RFC 6376 §3.3, RFC 8463 §3. */
export type DkimAlgorithm = (typeof DKIM_ALGORITHMS)[number];

/** `k=` of the record that publishes a key. */
export function keyTypeOf(algorithm: DkimAlgorithm): 'rsa' | 'ed25519' {
  return algorithm === 'rsa-sha256' ? 'rsa' : 'ed25519';
}

/** The TXT that publishes a key (RFC 6376 §3.6.1); `publicKey` is base64. */
export function dkimRecord(algorithm: DkimAlgorithm, publicKey: string): string {
  return `v=DKIM1; k=${keyTypeOf(algorithm)}; p=${publicKey}`;
}
