import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, plannedForValues, Publisher } from '#platform';
import type {
  CustomFieldDefinition,
  CustomFieldType,
  CustomFieldValues,
} from '../custom-fields/custom-field.js';
import { applyCustomFields } from '../custom-fields/custom-field-values.js';
import { CustomFieldsQuery } from '../custom-fields/custom-field.repository.js';
import { type ChangedBy, type FieldChanges, recordingChanges } from './field-changes.service.js';
import { subscriberColumns } from './subscriber.repository.js';
import { type ChangeableField, changeableField, FIELD_READERS } from './subscriber-fields.js';
import type { SubscriberView } from './subscriber.js';

/** The outcome of an update for each person; missing people were erased. */
export type FieldOutcomes = ReadonlyMap<string, 'changed' | 'unchanged' | { readonly fault: string }>;

type Current = Pick<SubscriberView, 'id' | 'firstName' | 'lastName' | 'phone' | 'locale' | 'timeZone'> & {
  readonly customFields: CustomFieldValues;
};
type Read = { readonly value: unknown } | { readonly fault: string };

const TEXTS: ReadonlySet<CustomFieldType> = new Set(['TEXT', 'LONG_TEXT', 'SELECT', 'PHONE']);
const UNKNOWN =
  'is not a known custom field, nor one of subscriber.first_name, last_name, phone, locale and time_zone';

/** Sets one field of many subscribers for an automation: the names of fields are those of `changeableField`. */
@Injectable()
export class FieldUpdatesService {
  constructor(
    private readonly database: Database,
    private readonly definitions: CustomFieldsQuery,
    private readonly publisher: Publisher,
  ) {}

  /**
   * Faults of an update to come, by `key` and `value`. A value is a string or of the JSON type of the field, null clears; undefined
   * where each person has an own one.
   */
  async faults(scope: ProjectScope, key: string, value: unknown): Promise<Readonly<Record<string, string>>> {
    const field = changeableField(key);
    if (field === null) return { key: UNKNOWN };
    const definitions = 'custom' in field ? await this.definitions.definitions(scope) : [];
    if ('custom' in field && !definitions.some((known) => known.key === field.custom))
      return { key: UNKNOWN };
    if (value === undefined) return {};
    const read = readValue(field, definitions, {}, value);
    return 'fault' in read ? { value: read.fault } : {};
  }

  /** Sets the field to each person's value, in one statement. Publishes whose changed. */
  update(
    scope: ProjectScope,
    key: string,
    inputs: ReadonlyMap<string, unknown>,
    by: ChangedBy,
    now: Date,
  ): Promise<FieldOutcomes> {
    return this.database.transaction(scope, async () => {
      const field = changeableField(key);
      const people = await this.#lock(scope, [...inputs.keys()]);
      if (field === null) return new Map(people.map(({ id }) => [id, { fault: UNKNOWN }] as const));
      const definitions = 'custom' in field ? await this.definitions.definitionsToWrite(scope) : [];
      const outcomes = new Map<string, 'changed' | 'unchanged' | { readonly fault: string }>();
      const changes = new Map<string, { readonly from: unknown; readonly to: unknown }>();
      for (const person of people) {
        const read = readValue(field, definitions, person.customFields, inputs.get(person.id));
        const current = 'custom' in field ? person.customFields[field.custom] : person[field.column];
        if ('fault' in read) outcomes.set(person.id, read);
        else if (isDeepStrictEqual(read.value, current ?? null)) outcomes.set(person.id, 'unchanged');
        else {
          outcomes.set(person.id, 'changed');
          changes.set(person.id, { from: current ?? null, to: read.value });
        }
      }
      if (changes.size > 0) await this.#write(scope, field, changes, by, now);
      return outcomes;
    });
  }

  async #lock({ environmentId }: ProjectScope, ids: readonly string[]): Promise<readonly Current[]> {
    const locking = sql<Current>`
      select b.id, b.first_name, b.last_name, b.phone, b.locale, b.time_zone, b.custom_fields
      from audience.subscribers b
      where b.environment_id = ${environmentId} and b.id = any(${[...ids]}::uuid[]) order by b.id for update
    `;
    return (await locking.execute(this.database.tables())).rows;
  }

  async #write(
    scope: ProjectScope,
    field: ChangeableField,
    changes: ReadonlyMap<string, FieldChanges[string]>,
    by: ChangedBy,
    now: Date,
  ): Promise<void> {
    const ids = [...changes.keys()];
    const valueOf = (to: unknown) => JSON.stringify('custom' in field ? { [field.custom]: to } : to);
    const values = [...changes.values()].map(({ to }) => (to === null ? null : valueOf(to)));
    const change =
      'custom' in field
        ? sql`custom_fields = case when v.value is null then b.custom_fields - ${field.custom}::text
            else b.custom_fields || v.value::jsonb end`
        : sql`${sql.ref(COLUMN_NAMES[field.column])} = v.value::jsonb #>> '{}'`;
    const writing = sql`
      /* update_fields */ update audience.subscribers b set ${change}, updated_at = ${now}
      from unnest(${ids}::uuid[], ${values}::text[]) v(id, value)
      where b.environment_id = ${scope.environmentId} and b.id = any(${ids}::uuid[]) and b.id = v.id
    `;
    // An array of unknown length is taken for ten: each of the values would be compared with each person.
    const path = 'custom' in field ? `customFields.${field.custom}` : field.column;
    const recorded = new Map([...changes].map(([id, fromTo]) => [id, { [path]: fromTo }]));
    const recording = recordingChanges(scope, by, recorded, now);
    await plannedForValues(this.database, {}, () => this.database.together(writing, recording));
    if (!this.publisher.hasListeners(scope, 'subscriber.updated')) return;
    const { rows } = await sql<SubscriberView>`
      select ${subscriberColumns(scope)} from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.id = any(${ids}::uuid[])
    `.execute(this.database.tables());
    const events = rows.map((data) => ({ type: 'subscriber.updated', subscriberId: data.id, data }) as const);
    await this.publisher.publish(scope, ...events);
  }
}

const COLUMN_NAMES = {
  firstName: 'first_name',
  lastName: 'last_name',
  phone: 'phone',
  locale: 'locale',
  timeZone: 'time_zone',
} as const;

/** The value as it is stored; null clears. Texts take numbers, true and false, which become text. */
function readValue(
  field: ChangeableField,
  definitions: readonly CustomFieldDefinition[],
  current: CustomFieldValues,
  input: unknown,
): Read {
  if ('column' in field) return input === null ? { value: null } : readText(field.column, asText(input));
  const { custom: key } = field;
  const definition = definitions.find((known) => known.key === key);
  const given = definition !== undefined && TEXTS.has(definition.type) ? asText(input) : input;
  const read = applyCustomFields(definitions, current, { [key]: given }, 'update');
  if ('values' in read) return { value: read.values[key] ?? null };
  const [fault = ''] = Object.values(read.errors);
  return { fault };
}

function readText(column: keyof typeof COLUMN_NAMES, input: unknown): Read {
  if (typeof input !== 'string') return { fault: 'must be a string' };
  const read = FIELD_READERS[column](input);
  return 'value' in read && read.value === '' ? { fault: 'must not be empty' } : read;
}

const asText = (input: unknown): unknown =>
  typeof input === 'number' || typeof input === 'boolean' ? String(input) : input;
