import type { EmailAddress } from '#kernel';
import type { SubscriberOutcome } from '../consents/consent.repository.js';
import { applyCustomFields, customFieldPaths } from '../custom-fields/custom-field-values.js';
import type { CustomFieldDefinition } from '../custom-fields/custom-field.js';
import { changesBetween, type FieldChanges } from '../subscribers/field-changes.service.js';
import { NO_FIELDS, type SubscriberFields } from '../subscribers/subscriber.js';
import type { GrantableTopic } from '../topics/topic.js';
import type { FaultyRow, ReadRow } from './import-row.js';
import { WHOLE_ROW } from './import.js';

/** An existing subscriber. */
export interface KnownPerson extends SubscriberFields {
  readonly id: string;
}

type NewPerson = SubscriberFields & {
  readonly address: EmailAddress;
  readonly source: ReadRow;
  /** Topics that the address left before its subscriber was erased, and that it stays off; null: it was nobody's. */
  readonly left: readonly GrantableTopic[] | null;
};
type UpdatedPerson = KnownPerson & { readonly source: ReadRow; readonly changes: FieldChanges };

/** The decisions about some rows. */
export class ImportDecisions {
  created: NewPerson[] = [];
  readonly updated: UpdatedPerson[] = [];
  readonly notes: FaultyRow[] = [];
  skipped = 0;
  failed = 0;
  /** The rows that take external ids, by external id. */
  readonly #taken = new Map<string, number>();

  constructor(
    private readonly definitions: readonly CustomFieldDefinition[],
    private readonly topicKeys: readonly string[],
    /** The ids of the subscribers who have external ids of the rows. */
    private readonly ownerOf: ReadonlyMap<string, string> = new Map(),
  ) {}

  fail(row: FaultyRow): void {
    this.notes.push(row);
    this.failed += 1;
  }

  /** Skips the row; notes the reason when the client could not know it. */
  skip(row: ReadRow, errors: FaultyRow['errors'] | null): void {
    if (errors !== null) this.notes.push(noteOf(row, errors));
    this.skipped += 1;
  }

  /** Creates a subscriber without the topics that the address left; `left` is null where it was nobody's. */
  create(row: ReadRow, left: NewPerson['left']): void {
    const custom = applyCustomFields(this.definitions, {}, row.customFields, 'create');
    if ('errors' in custom) return this.fail(noteOf(row, customFieldPaths(custom.errors)));
    const fault = this.#externalIdFault(row, null);
    if (fault !== null) return this.fail(noteOf(row, fault));
    const fields = { ...NO_FIELDS, ...row.fields, customFields: custom.values };
    this.created.push({ source: row, address: row.address, left, ...fields });
  }

  /** Fails a new row: its address left all topics of the import. */
  refuse(row: ReadRow, left: readonly GrantableTopic[]): void {
    this.fail(noteOf(row, this.#refusalsOf(left)));
  }

  update(row: ReadRow, person: KnownPerson): void {
    const custom = applyCustomFields(this.definitions, person.customFields, row.customFields, 'update');
    if ('errors' in custom) return this.fail(noteOf(row, customFieldPaths(custom.errors)));
    const fault = this.#externalIdFault(row, person.id);
    if (fault !== null) return this.fail(noteOf(row, fault));
    const next: KnownPerson = { ...person, ...row.fields, customFields: custom.values };
    this.updated.push({ ...next, source: row, changes: changesBetween(person, next) });
  }

  /** Fails rows beyond the number of new subscribers that the plan allows. */
  refuseBeyond(room: number): void {
    for (const { source } of this.created.slice(room)) {
      this.fail(noteOf(source, { [WHOLE_ROW]: "is beyond the plan's limit of subscribers" }));
    }
    this.created = this.created.slice(0, room);
  }

  /** Notes that revoked consents stay revoked: those of new people, and those among the outcomes for others. */
  noteRefusals(outcomes: readonly SubscriberOutcome[], topics: readonly GrantableTopic[]): void {
    const refused = outcomes.filter(({ from, isDone }) => from === 'UNSUBSCRIBED' && !isDone);
    const refusedOf = Map.groupBy(refused, ({ subscriberId }) => subscriberId);
    const note = (source: ReadRow, left: readonly GrantableTopic[]) => {
      if (left.length > 0) this.notes.push(noteOf(source, this.#refusalsOf(left)));
    };
    for (const { source, left } of this.created) note(source, left ?? []);
    for (const { id, source } of this.updated) {
      const topicIds = (refusedOf.get(id) ?? []).map(({ topicId }) => topicId);
      note(
        source,
        topics.filter((topic) => topicIds.includes(topic.id)),
      );
    }
  }

  /** The error in a row whose external id is another one's, or null: then the row takes it. */
  #externalIdFault({ row, fields }: ReadRow, subscriberId: string | null): FaultyRow['errors'] | null {
    const id = fields.externalId ?? null;
    if (id === null) return null;
    const owner = this.ownerOf.get(id);
    if (owner !== undefined && owner !== subscriberId) return { externalId: 'belongs to another subscriber' };
    const taker = this.#taken.get(id);
    if (taker !== undefined) return { externalId: `is that of row ${taker} already` };
    this.#taken.set(id, row);
    return null;
  }

  #refusalsOf(left: readonly GrantableTopic[]): FaultyRow['errors'] {
    const pathOf = ({ topicKey }: GrantableTopic) => `topicKeys[${this.topicKeys.indexOf(topicKey)}]`;
    return Object.fromEntries(left.map((topic) => [pathOf(topic), 'was unsubscribed before, and stays so']));
  }
}

function noteOf({ row, line, address }: ReadRow, errors: FaultyRow['errors']): FaultyRow {
  return { row, line, email: address.value, emailKey: address.key, errors };
}
