import { isDeepStrictEqual } from 'node:util';
import type { EmailAddress } from '#kernel';
import type { SubscriberOutcome } from '../consents/consent-writer.repository.js';
import type { CustomFieldDefinition } from '../custom-fields/custom-field.js';
import { applyCustomFields, customFieldPaths } from '../custom-fields/custom-field-values.js';
import { NO_FIELDS, type SubscriberFields } from '../subscribers/subscriber.js';
import type { GrantableTopic } from '../topics/topic.js';
import type { FaultyRow, ReadRow } from './import-row.js';
import { WHOLE_ROW } from './import.js';

/** An existing subscriber. */
export interface KnownPerson extends SubscriberFields {
  readonly id: string;
}

type NewPerson = SubscriberFields & { readonly address: EmailAddress; readonly source: ReadRow };
type UpdatedPerson = KnownPerson & { readonly source: ReadRow; readonly isChanged: boolean };

/** The decisions about some rows. */
export class ImportDecisions {
  created: NewPerson[] = [];
  readonly updated: UpdatedPerson[] = [];
  readonly notes: FaultyRow[] = [];
  skipped = 0;
  failed = 0;

  constructor(private readonly definitions: readonly CustomFieldDefinition[]) {}

  fail(row: FaultyRow): void {
    this.notes.push(row);
    this.failed += 1;
  }

  /** Skips the row; notes the reason when the client could not know it. */
  skip(row: ReadRow, errors: FaultyRow['errors'] | null): void {
    if (errors !== null) this.notes.push(noteOf(row, errors));
    this.skipped += 1;
  }

  create(row: ReadRow): void {
    const custom = applyCustomFields(this.definitions, {}, row.customFields, 'create');
    if ('errors' in custom) return this.fail(noteOf(row, customFieldPaths(custom.errors)));
    const fields = { ...NO_FIELDS, ...row.fields, customFields: custom.values };
    this.created.push({ source: row, address: row.address, ...fields });
  }

  update(row: ReadRow, person: KnownPerson): void {
    const custom = applyCustomFields(this.definitions, person.customFields, row.customFields, 'update');
    if ('errors' in custom) return this.fail(noteOf(row, customFieldPaths(custom.errors)));
    const next: KnownPerson = { ...person, ...row.fields, customFields: custom.values };
    this.updated.push({ ...next, source: row, isChanged: !isDeepStrictEqual(next, person) });
  }

  /** Fails rows beyond the number of new subscribers that the plan allows. */
  refuseBeyond(room: number): void {
    for (const { source } of this.created.slice(room)) {
      this.fail(noteOf(source, { [WHOLE_ROW]: "is beyond the plan's limit of subscribers" }));
    }
    this.created = this.created.slice(0, room);
  }

  /** Notes that a revoked consent stays revoked. */
  noteRefusals(
    outcomes: readonly SubscriberOutcome[],
    topics: readonly GrantableTopic[],
    topicKeys: readonly string[],
  ): void {
    const refused = outcomes.filter(({ from }) => from === 'UNSUBSCRIBED');
    if (refused.length === 0) return;
    const keyOf = new Map(topics.map(({ id, topicKey }) => [id, topicKey]));
    const topicsOf = Map.groupBy(refused, ({ subscriberId }) => subscriberId);
    for (const { id, source } of this.updated) {
      const left = (topicsOf.get(id) ?? []).map(({ topicId }) => keyOf.get(topicId) ?? '');
      const errors = left.map((key) => [
        `topicKeys[${topicKeys.indexOf(key)}]`,
        'was unsubscribed before, and stays so',
      ]);
      if (left.length > 0) this.notes.push(noteOf(source, Object.fromEntries(errors) as FaultyRow['errors']));
    }
  }
}

function noteOf({ row, line, address }: ReadRow, errors: FaultyRow['errors']): FaultyRow {
  return { row, line, email: address.value, emailKey: address.key, errors };
}
