import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { type ImportTerms, ImportTermsService } from './import-terms.service.js';
import type { Import, ImportProgress } from './import.js';
import { ImportRepository } from './import.repository.js';
import { ImportedRows } from './imported-rows.service.js';
import { ImportedSubscribers } from './imported-subscribers.repository.js';
import type { RowRange } from './row-ranges.js';

const NONE: ImportProgress = { created: 0, updated: 0, skipped: 0, failed: 0 };

/** Applies rows to the subscribers and consents of a project, a chunk at a time. */
@Injectable()
export class ImportChunks {
  constructor(
    private readonly database: Database,
    private readonly imports: ImportRepository,
    private readonly terms: ImportTermsService,
    private readonly subscribers: ImportedSubscribers,
    private readonly others: ImportedRows,
  ) {}

  /**
   * Writes what follows from the rows of a range that are left, their counts and that they are done, all or nothing.
   * Returns why the import cannot go on, or null.
   */
  apply(scope: ProjectScope, plan: Import, range: RowRange): Promise<string | null> {
    return this.database.transaction(scope, async () => {
      // A crash of PostgreSQL that takes the last chunks takes them whole, with the word that they are done; the end
      // of the import and the way of each mail are committed durably, and with them all that came before.
      await sql`set local synchronous_commit = off`.execute(this.database.tables());
      const rows = await this.imports.lockAddresses(scope, plan.id, range);
      if (rows === 0) return null;
      const terms = await this.terms.of(scope, plan, rows);
      if ('refusal' in terms) return terms.refusal;
      const made = await this.#makeSubscribers(scope, plan, range, terms, rows);
      const rest = made === rows ? null : await this.others.apply(scope, plan, range, terms, made);
      if (made + (rest?.rows ?? 0) !== rows) throw new Error('Another worker continued this import.');
      const progress = { ...(rest?.progress ?? NONE), created: made + (rest?.progress.created ?? 0) };
      await this.imports.advance(scope, plan.id, progress, rest?.notes ?? []);
      return null;
    });
  }

  /** Creates new subscribers without reading rows, when no row can be refused because of others. */
  #makeSubscribers(
    scope: ProjectScope,
    { id }: Import,
    range: RowRange,
    { areAsChecked, room, first, occasion }: ImportTerms,
    rows: number,
  ): Promise<number> {
    if (!areAsChecked || room < rows) return Promise.resolve(0);
    return this.subscribers.make(scope, id, range, first, occasion);
  }
}
