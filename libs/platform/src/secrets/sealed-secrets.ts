/** A place where sealed secrets are kept. Each has one, so that a change of the master key reaches all of them. */
export abstract class SealedSecrets {
  /** In words, for the operator: `DKIM keys`. */
  abstract readonly inWords: string;

  /** Seals up to `limit` secrets of other master keys with the current one, and commits. How many; 0 = all are done. */
  abstract sealAnew(limit: number): Promise<number>;
}
