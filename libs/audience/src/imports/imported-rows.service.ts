import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { ConsentWriter } from '../consents/consent-writer.repository.js';
import { ImportDecisions } from './import-decisions.js';
import { isReadable, type ReadRow, readRow } from './import-row.js';
import type { ImportTerms } from './import-terms.service.js';
import type { Import, ImportConflict, ImportProgress, StagedRow } from './import.js';
import { ImportedPeople } from './imported-people.repository.js';
import type { RowRange } from './row-ranges.js';
import { StagedRows } from './staged-rows.repository.js';

/** The outcomes of some rows. */
export interface AppliedRows {
  readonly rows: number;
  readonly progress: ImportProgress;
  readonly notes: ImportDecisions['notes'];
}

/** Applies rows that have to be read: of existing or suppressed people, with errors, or checked with other definitions. */
@Injectable()
export class ImportedRows {
  constructor(
    @Inject(StagedRows) private readonly staged: StagedRows,
    @Inject(ImportedPeople) private readonly people: ImportedPeople,
    @Inject(ConsentWriter) private readonly consents: ConsentWriter,
  ) {}

  /** Removes the remaining rows of a range, in the open transaction, and applies them. `made`: subscribers already created from it. */
  async apply(
    scope: ProjectScope,
    plan: Import,
    range: RowRange,
    terms: ImportTerms,
    made: number,
  ): Promise<AppliedRows> {
    const { topics, first, occasion, room } = terms;
    const rows = await this.staged.take(scope, plan.id, range);
    const decisions = await this.#decide(scope, plan, rows, terms);
    decisions.refuseBeyond(room - made);
    const { created, updated, skipped, failed } = decisions;
    await this.people.insert(scope, created, first, occasion);
    const changed = updated.filter(({ isChanged }) => isChanged);
    await this.people.update(scope, changed, occasion.at);
    const order = { subscriberIds: updated.map(({ id }) => id), action: 'offer', topics } as const;
    decisions.noteRefusals(await this.consents.change(scope, order, occasion.proof), topics, plan.topicKeys);
    return {
      rows: rows.length,
      progress: { created: created.length, updated: updated.length, skipped, failed },
      notes: decisions.notes,
    };
  }

  async #decide(
    scope: ProjectScope,
    { columns, onConflict }: Import,
    rows: readonly StagedRow[],
    { definitions }: ImportTerms,
  ): Promise<ImportDecisions> {
    const decisions = new ImportDecisions(definitions);
    const readable: ReadRow[] = [];
    for (const staged of rows) {
      const row = readRow(columns, staged);
      if (isReadable(row)) readable.push(row);
      else decisions.fail(row);
    }
    await this.#sort(scope, decisions, readable, onConflict);
    return decisions;
  }

  async #sort(
    scope: ProjectScope,
    decisions: ImportDecisions,
    rows: readonly ReadRow[],
    onConflict: ImportConflict,
  ): Promise<void> {
    const keys = rows.map(({ address }) => address.key);
    const known = await this.people.known(scope, keys);
    const suppressed = await this.people.suppressed(scope, keys);
    for (const row of rows) {
      const person = known.get(row.address.key);
      if (suppressed.has(row.address.key)) decisions.skip(row, { email: 'is suppressed' });
      else if (person === undefined) decisions.create(row);
      else if (onConflict === 'SKIP') decisions.skip(row, null);
      else decisions.update(row, person);
    }
  }
}
