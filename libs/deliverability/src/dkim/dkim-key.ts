import type { ProjectScope } from '#kernel';

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

/** Context that a sealed DKIM key is bound to. */
export function dkimSecret({ projectId, environmentId }: Pick<ProjectScope, 'projectId' | 'environmentId'>) {
  return { purpose: 'dkim-key', owner: { projectId, environmentId } };
}

/** NEXT is published and does not sign yet; RETIRED signs no more. */
export type DkimKeyState = 'NEXT' | 'ACTIVE' | 'RETIRED';

/** A pair that was just made. */
export interface NewDkimKey {
  readonly selector: string;
  readonly algorithm: DkimAlgorithm;
  /** Base64, as it stands in p=. */
  readonly publicKey: string;
  /** The private half, sealed for the project. */
  readonly privateKeyBox: string;
}

/** A pair of keys of a sending domain. */
export class DkimKeyPair implements NewDkimKey {
  readonly id!: number;
  readonly environmentId: number;
  readonly domainId: number;
  readonly selector!: string;
  readonly algorithm!: DkimAlgorithm;
  readonly publicKey!: string;
  readonly privateKeyBox!: string;
  retiredAt: Date | null = null;

  constructor(
    domain: { readonly id: number; readonly environmentId: number },
    made: NewDkimKey,
    public state: DkimKeyState,
    readonly createdAt: Date,
  ) {
    this.environmentId = domain.environmentId;
    this.domainId = domain.id;
    Object.assign(this, made);
  }

  /** One that was to come signs from now on; one that signed does no more. */
  switch(now: Date): void {
    if (this.state === 'ACTIVE') this.retiredAt = now;
    this.state = this.state === 'NEXT' ? 'ACTIVE' : 'RETIRED';
  }
}
