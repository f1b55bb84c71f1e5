import type { RawBuilder } from 'kysely';
import type { ProjectScope } from '#kernel';
import type { Database } from '../database/database.js';
import type { SecretBox, SecretContext } from './secret-box.js';

/** A service that keeps secrets, so that a change of the master key reaches all of them. */
export interface SealedSecrets {
  /**
   * Seals up to `limit` secrets of other master keys with the current one, and commits. Resolves to their number, 0 at the end.
   */
  resealSecrets(limit: number): Promise<number>;
}

/** A service that can tell whether the master key opens its secrets. */
export interface CheckedSecrets extends SealedSecrets {
  /** Opens those of the first row. Throws an `UnreadableSecretError`. */
  checkSecrets(): Promise<void>;
}

/** A row with the boxes that it holds; null where it holds none. */
export interface SealedRow<Key> {
  readonly key: Key;
  readonly projectId: number;
  readonly environmentId: number;
  readonly boxes: readonly (string | null)[];
}

/** Secrets that are columns of a table. */
interface SealedColumns<Key> {
  /** Context in which they are sealed. */
  readonly contextOf: (owner: Pick<ProjectScope, 'projectId' | 'environmentId'>) => SecretContext;
  /** Up to `limit` rows with a box that does not begin with `prefix`. */
  readonly sealedOtherwise: (prefix: string, limit: number) => RawBuilder<SealedRow<Key>>;
  /** Writes a row's boxes, in the order in which they were read, unless they have changed: then the row is found again. */
  readonly rewrite: (row: SealedRow<Key>, boxes: readonly (string | null)[]) => RawBuilder<unknown>;
}

/** Seals up to `limit` rows with the current master key in the open transaction; resolves to their number. */
export async function resealRows<Key>(
  database: Database,
  box: SecretBox,
  { contextOf, sealedOtherwise, rewrite }: SealedColumns<Key>,
  limit: number,
): Promise<number> {
  const { rows } = await sealedOtherwise(box.currentPrefix, limit).execute(database.tables());
  for (const row of rows) {
    const context = contextOf(row);
    const anew = row.boxes.map((sealed) => sealed && box.seal(box.open(sealed, context), context));
    await rewrite(row, anew).execute(database.tables());
  }
  return rows.length;
}

/** No box begins with it. */
const ANOTHER_PREFIX = '-';

/** Opens the secrets of the first row, where there is one. Throws an `UnreadableSecretError`. */
export async function openFirstRow<Key>(
  database: Database,
  box: SecretBox,
  { contextOf, sealedOtherwise }: SealedColumns<Key>,
): Promise<void> {
  const { rows } = await sealedOtherwise(ANOTHER_PREFIX, 1).execute(database.tables());
  for (const row of rows)
    for (const sealed of row.boxes) if (sealed !== null) box.open(sealed, contextOf(row));
}
