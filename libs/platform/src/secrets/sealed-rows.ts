import { Injectable } from '@nestjs/common';
import type { RawBuilder } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '../database/database.js';
import { SecretBox, type SecretContext } from './secret-box.js';

/** A place of sealed secrets, so that a change of the master key reaches all of them. */
export abstract class SealedSecrets {
  /** In words, for the operator: `DKIM keys`. */
  abstract readonly inWords: string;

  /**
   * Seals up to `limit` secrets of other master keys with the current one, and commits. Resolves to their number, 0 at the end.
   */
  abstract sealAnew(limit: number): Promise<number>;
}

/** A row with the boxes that it holds; null where it holds none. */
export interface SealedRow<Key> {
  readonly key: Key;
  readonly projectId: number;
  readonly environmentId: number;
  readonly boxes: readonly (string | null)[];
}

/** Secrets that are columns of a table. */
@Injectable()
export abstract class SealedRows<Key extends number | string> extends SealedSecrets {
  constructor(
    protected readonly database: Database,
    private readonly box: SecretBox,
  ) {
    super();
  }

  /** Context in which they are sealed. */
  protected abstract contextOf(owner: Pick<ProjectScope, 'projectId' | 'environmentId'>): SecretContext;

  /** Up to `limit` rows with a box that does not begin with `prefix`. */
  protected abstract sealedOtherwise(prefix: string, limit: number): RawBuilder<SealedRow<Key>>;

  /** Writes a row's boxes, in the order in which they were read, unless they have changed: then the row is found again. */
  protected abstract rewrite(row: SealedRow<Key>, boxes: readonly (string | null)[]): RawBuilder<unknown>;

  override sealAnew(limit: number): Promise<number> {
    return this.database.system(() => this.sealAnewIn(limit));
  }

  protected async sealAnewIn(limit: number): Promise<number> {
    const { rows } = await this.sealedOtherwise(this.box.currentPrefix, limit).execute(
      this.database.tables(),
    );
    for (const row of rows) {
      const context = this.contextOf(row);
      const anew = row.boxes.map((box) => box && this.box.seal(this.box.open(box, context), context));
      await this.rewrite(row, anew).execute(this.database.tables());
    }
    return rows.length;
  }
}
