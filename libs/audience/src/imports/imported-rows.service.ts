import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { ErasedAddresses } from '../suppressions/erased-addresses.repository.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { firstConsents } from '../consents/consent.js';
import { ImportDecisions } from './import-decisions.js';
import { isReadable, type ReadRow, readRow } from './import-row.js';
import type { ImportTerms } from './import-terms.service.js';
import type { Import, ImportProgress, StagedRow } from './import.js';
import { ImportedPeople } from './imported-people.repository.js';
import type { RowRange } from './row-ranges.js';
import { StagedRows } from './staged-rows.repository.js';

/** The outcomes of some rows. */
export interface AppliedRows {
  readonly rows: number;
  readonly progress: ImportProgress;
  readonly notes: ImportDecisions['notes'];
}

type SortedFor = Pick<Import, 'onConflict' | 'resubscribe'> & Pick<ImportTerms, 'topics'>;

/** Applies rows that have to be read: of existing or suppressed people, with errors, or checked with other definitions. */
@Injectable()
export class ImportedRows {
  constructor(
    private readonly staged: StagedRows,
    private readonly people: ImportedPeople,
    private readonly erased: ErasedAddresses,
    private readonly consents: ConsentRepository,
  ) {}

  /** Removes the remaining rows of a range, in the open transaction, and applies them. `made`: subscribers already created from it. */
  async apply(
    scope: ProjectScope,
    plan: Import,
    range: RowRange,
    terms: ImportTerms,
    made: number,
  ): Promise<AppliedRows> {
    const { topics, occasion, room } = terms;
    const rows = await this.staged.take(scope, plan.id, range);
    const decisions = await this.#decide(scope, plan, rows, terms);
    decisions.refuseBeyond(room - made);
    const { created, updated, skipped, failed } = decisions;
    for (const alike of Map.groupBy(created, ({ left }) => left?.map(({ id }) => id).join() ?? '').values()) {
      const granted = topics.filter((topic) => alike[0]!.left?.includes(topic) !== true);
      await this.people.insert(scope, alike, firstConsents(granted, occasion.at), occasion);
    }
    const returned = created.filter(({ left }) => left !== null).map(({ address }) => address.key);
    await this.erased.restore(scope, returned, occasion);
    const changed = updated.filter(({ isChanged }) => isChanged);
    await this.people.update(scope, changed, occasion.at);
    const action = plan.resubscribe ? 'grant' : 'offer';
    const order = { subscriberIds: updated.map(({ id }) => id), action, topics } as const;
    decisions.noteRefusals(await this.consents.change(scope, order, occasion.proof), topics);
    return {
      rows: rows.length,
      progress: { created: created.length, updated: updated.length, skipped, failed },
      notes: decisions.notes,
    };
  }

  async #decide(
    scope: ProjectScope,
    plan: Import,
    rows: readonly StagedRow[],
    { definitions, topics }: ImportTerms,
  ): Promise<ImportDecisions> {
    const decisions = new ImportDecisions(definitions, plan.topicKeys);
    const readable: ReadRow[] = [];
    for (const staged of rows) {
      const row = readRow(plan.columns, staged);
      if (isReadable(row)) readable.push(row);
      else decisions.fail(row);
    }
    await this.#sort(scope, decisions, readable, {
      onConflict: plan.onConflict,
      resubscribe: plan.resubscribe,
      topics,
    });
    return decisions;
  }

  async #sort(
    scope: ProjectScope,
    decisions: ImportDecisions,
    rows: readonly ReadRow[],
    { onConflict, resubscribe, topics }: SortedFor,
  ): Promise<void> {
    const keys = rows.map(({ address }) => address.key);
    const known = await this.people.known(scope, keys);
    const suppressed = await this.people.suppressed(scope, keys);
    const erased = await this.erased.among(scope, keys);
    for (const row of rows) {
      const { key } = row.address;
      const person = known.get(key);
      const before = erased.get(key);
      const left = topics.filter(({ id }) => !resubscribe && before?.has(id) === true);
      if (suppressed.has(key)) decisions.skip(row, { email: 'is suppressed' });
      else if (person === undefined && left.length === topics.length) decisions.refuse(row, left);
      else if (person === undefined) decisions.create(row, before === undefined ? null : left);
      else if (onConflict === 'SKIP') decisions.skip(row, null);
      else decisions.update(row, person);
    }
  }
}
