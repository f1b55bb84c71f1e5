import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { Clock, type EmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { CustomFieldDefinition } from '../custom-fields/custom-field.js';
import { applyCustomFields, customFieldPaths } from '../custom-fields/custom-field-values.js';
import type { SubscriberStatus } from '../subscribers/subscriber.js';
import { refreshStatuses } from '../subscribers/subscriber.repository.js';
import type { Topic } from '../topics/topic.js';
import { type FaultyRow, isReadable, type ReadRow } from './import-row.js';
import { type ImportPlan, ImportRepository } from './import.repository.js';
import { type ImportConflict, WHOLE_ROW } from './import.js';
import { ImportedConsents } from './imported-consents.repository.js';
import { type ImportedFields, ImportedPeople, type KnownPerson } from './imported-people.repository.js';
import type { RowRange } from './row-ranges.js';

/** Rows that were read, and what they are held against. */
export interface ImportChunk {
  readonly range: RowRange;
  readonly rows: readonly (ReadRow | FaultyRow)[];
  readonly topics: readonly Topic[];
  readonly definitions: readonly CustomFieldDefinition[];
}

type Newcomer = ImportedFields & { readonly address: EmailAddress; readonly source: ReadRow };
type Returner = KnownPerson & { readonly source: ReadRow; readonly isChanged: boolean };

/** What is to be done with the rows of a chunk. */
class Decisions {
  newcomers: Newcomer[] = [];
  readonly returners: Returner[] = [];
  readonly notes: FaultyRow[] = [];
  skipped = 0;
  failed = 0;
}

/** Applies rows to the subscribers and consents of a project, a chunk at a time. */
@Injectable()
export class ImportChunks {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ImportedPeople) private readonly people: ImportedPeople,
    @Inject(ImportedConsents) private readonly consents: ImportedConsents,
    @Inject(ImportRepository) private readonly imports: ImportRepository,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Writes what follows from the rows, their counts and that they are done, all or nothing. */
  apply(scope: ProjectScope, plan: ImportPlan, chunk: ImportChunk): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await this.people.lockAddresses(scope, keysOf(chunk.rows));
      const rows = await this.#take(scope, plan.importId, chunk);
      const decisions = await this.#decide(scope, plan.onConflict, rows, chunk.definitions);
      const { newcomers, returners, skipped, failed } = decisions;
      const occasion = { at: this.clock.now(), proof: plan.proof };
      const newIds = await this.people.insert(scope, newcomers, firstStatus(chunk.topics), occasion.at);
      await this.consents.grant(scope, newIds, chunk.topics, occasion);
      const changed = returners.filter(({ isChanged }) => isChanged);
      await this.people.update(scope, changed, occasion.at);
      const ids = returners.map(({ id }) => id);
      const granted = await this.consents.grant(scope, ids, chunk.topics, occasion);
      if (granted.length > 0) await refreshStatuses(db, granted, occasion.at);
      const refused = await this.consents.refused(scope, ids, chunk.topics);
      const notes = [...decisions.notes, ...refusals(refused, returners, chunk.topics, plan.topicKeys)];
      const progress = { created: newcomers.length, updated: returners.length, skipped, failed };
      await this.imports.advance(scope, plan.importId, progress, notes);
    });
  }

  /** The rows as they are by now, taken out as done. */
  async #take(
    scope: ProjectScope,
    importId: string,
    { range, rows }: ImportChunk,
  ): Promise<ImportChunk['rows']> {
    const faults = await this.imports.take(scope, importId, range);
    if (faults.size !== rows.length) throw new Error('Another worker went on with this import.');
    return rows.map((row) => withFault(row, faults.get(row.row) ?? null));
  }

  async #decide(
    scope: ProjectScope,
    onConflict: ImportConflict,
    rows: ImportChunk['rows'],
    definitions: ImportChunk['definitions'],
  ): Promise<Decisions> {
    const decisions = new Decisions();
    const readable: ReadRow[] = [];
    for (const row of rows) {
      if (isReadable(row)) readable.push(row);
      else fail(decisions, row);
    }
    const keys = readable.map(({ address }) => address.key);
    const known = await this.people.known(scope, keys);
    const suppressed = await this.people.suppressed(scope, keys);
    for (const row of readable) {
      const person = known.get(row.address.key);
      if (suppressed.has(row.address.key)) {
        decisions.notes.push(noteOf(row, { email: 'is suppressed' }));
        decisions.skipped += 1;
      } else if (person === undefined) addNewcomer(decisions, row, definitions);
      else if (onConflict === 'SKIP') decisions.skipped += 1;
      else addReturner(decisions, row, person, definitions);
    }
    refuseBeyond(decisions, await this.people.room(scope, decisions.newcomers.length));
    return decisions;
  }
}

function keysOf(rows: ImportChunk['rows']): string[] {
  return rows.flatMap((row) => (isReadable(row) ? [row.address.key] : []));
}

/** What `audience.derived_status` says of a newcomer once the consents are granted: nobody suppressed is made. */
function firstStatus(topics: readonly Topic[]): SubscriberStatus {
  return topics.every(({ doubleOptInEnabled }) => doubleOptInEnabled) ? 'PENDING_CONFIRMATION' : 'ACTIVE';
}

function addNewcomer(
  decisions: Decisions,
  row: ReadRow,
  definitions: readonly CustomFieldDefinition[],
): void {
  const custom = applyCustomFields(definitions, {}, row.customFields, 'create');
  if ('errors' in custom) return fail(decisions, noteOf(row, customFieldPaths(custom.errors)));
  const { firstName = null, lastName = null, phone = null } = row.fields;
  decisions.newcomers.push({
    source: row,
    address: row.address,
    firstName,
    lastName,
    phone,
    customFields: custom.values,
  });
}

function addReturner(
  decisions: Decisions,
  row: ReadRow,
  person: KnownPerson,
  definitions: readonly CustomFieldDefinition[],
): void {
  const custom = applyCustomFields(definitions, person.customFields, row.customFields, 'update');
  if ('errors' in custom) return fail(decisions, noteOf(row, customFieldPaths(custom.errors)));
  const next: KnownPerson = { ...person, ...row.fields, customFields: custom.values };
  decisions.returners.push({ ...next, source: row, isChanged: !isDeepStrictEqual(next, person) });
}

function refuseBeyond(decisions: Decisions, room: number): void {
  for (const { source } of decisions.newcomers.slice(room)) {
    fail(decisions, noteOf(source, { [WHOLE_ROW]: "is beyond the plan's limit of subscribers" }));
  }
  decisions.newcomers = decisions.newcomers.slice(0, room);
}

function fail(decisions: Decisions, row: FaultyRow): void {
  decisions.notes.push(row);
  decisions.failed += 1;
}

function noteOf({ row, address }: ReadRow, errors: Readonly<Record<string, string>>): FaultyRow {
  return { row, email: address.value, emailKey: address.key, errors };
}

/** A person who took a consent back keeps it so, and the import says it. */
function refusals(
  refused: readonly { readonly subscriberId: string; readonly topicId: string }[],
  returners: readonly Returner[],
  topics: readonly Topic[],
  topicKeys: readonly string[],
): FaultyRow[] {
  if (refused.length === 0) return [];
  const keyOf = new Map(topics.map(({ id, topicKey }) => [id, topicKey]));
  const topicsOf = Map.groupBy(refused, ({ subscriberId }) => subscriberId);
  return returners.flatMap(({ id, source }) => {
    const left = (topicsOf.get(id) ?? []).map(({ topicId }) => keyOf.get(topicId) ?? '');
    const errors = left.map((key) => [
      `topicKeys[${topicKeys.indexOf(key)}]`,
      'was unsubscribed before, and stays so',
    ]);
    return left.length === 0 ? [] : [noteOf(source, Object.fromEntries(errors) as Record<string, string>)];
  });
}

/** The row as it is by now: somebody may have been erased since it was read. */
function withFault(row: ReadRow | FaultyRow, fault: string | null): ReadRow | FaultyRow {
  if (fault === null || !isReadable(row)) return row;
  return { row: row.row, email: null, emailKey: null, errors: { [WHOLE_ROW]: fault } };
}
