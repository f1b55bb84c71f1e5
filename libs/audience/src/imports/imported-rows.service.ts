import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { refreshStatuses } from '../subscribers/subscriber.repository.js';
import { ImportDecisions } from './import-decisions.js';
import { isReadable, type ReadRow, readRow } from './import-row.js';
import type { ImportTerms } from './import-terms.service.js';
import type { ImportPlan, ImportProgress } from './import.repository.js';
import type { ImportConflict, StagedRow } from './import.js';
import { ImportedConsents } from './imported-consents.repository.js';
import { firstStatus } from './imported-newcomers.repository.js';
import { ImportedPeople } from './imported-people.repository.js';
import type { RowRange } from './row-ranges.js';
import { StagedRows } from './staged-rows.repository.js';

/** What became of some rows. */
export interface AppliedRows {
  readonly rows: number;
  readonly progress: ImportProgress;
  readonly notes: ImportDecisions['notes'];
  /** Requests to confirm, whose mails are still to be asked for. */
  readonly confirmationIds: readonly string[];
}

/** Rows that have to be read: of people who are there or suppressed, with faults, or checked by other fields. */
@Injectable()
export class ImportedRows {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(StagedRows) private readonly staged: StagedRows,
    @Inject(ImportedPeople) private readonly people: ImportedPeople,
    @Inject(ImportedConsents) private readonly consents: ImportedConsents,
  ) {}

  /** Takes the rows of a range out that are left, and writes what follows from them. `made` were made of it before. */
  apply(
    scope: ProjectScope,
    plan: ImportPlan,
    range: RowRange,
    terms: ImportTerms,
    made: number,
  ): Promise<AppliedRows> {
    return this.database.transaction(scope, async ({ db }) => {
      const { topics, occasion, room } = terms;
      const rows = await this.staged.take(scope, plan.importId, range);
      const decisions = await this.#decide(scope, plan, rows, terms);
      decisions.refuseBeyond(room - made);
      const { newcomers, returners, skipped, failed } = decisions;
      const newIds = await this.people.insert(scope, newcomers, firstStatus(topics), occasion.at);
      const first = await this.consents.grant(scope, newIds, topics, occasion);
      const changed = returners.filter(({ isChanged }) => isChanged);
      await this.people.update(scope, changed, occasion.at);
      const ids = returners.map(({ id }) => id);
      const granted = await this.consents.grant(scope, ids, topics, occasion);
      if (granted.subscriberIds.length > 0) await refreshStatuses(db, granted.subscriberIds, occasion.at);
      decisions.noteRefusals(await this.consents.refused(scope, ids, topics), topics, plan.topicKeys);
      return {
        rows: rows.length,
        progress: { created: newcomers.length, updated: returners.length, skipped, failed },
        notes: decisions.notes,
        confirmationIds: [...first.confirmationIds, ...granted.confirmationIds],
      };
    });
  }

  async #decide(
    scope: ProjectScope,
    { columns, onConflict }: ImportPlan,
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
      else if (person === undefined) decisions.addNewcomer(row);
      else if (onConflict === 'SKIP') decisions.skip(row, null);
      else decisions.addReturner(row, person);
    }
  }
}
