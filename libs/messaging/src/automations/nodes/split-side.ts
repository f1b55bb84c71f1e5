import { createHash } from 'node:crypto';

/** Octets of the hash that decide: as many as a number represents exactly. */
const OCTETS = 6;

/** The branch of a subscriber at a node: always the same, and distributed over all subscribers by the weights. */
export function splitSide(
  { a, b }: { readonly a: number; readonly b: number },
  subscriberId: string,
  node: string,
): 'a' | 'b' {
  const hash = createHash('sha256').update(`${node}/${subscriberId}`).digest();
  return hash.readUIntBE(0, OCTETS) / 2 ** (OCTETS * 8) < a / (a + b) ? 'a' : 'b';
}
