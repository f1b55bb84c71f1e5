import { createHash } from 'node:crypto';
import { parseCustomFieldValue } from './custom-field-value.js';
import {
  type CustomFieldDefinition,
  type CustomFieldErrors,
  type CustomFieldValue,
  type CustomFieldValues,
  MAX_VALUES_OCTETS,
  WHOLE_SUBSCRIBER,
} from './custom-field.js';

/**
 * Applies `changes` (strings or native JSON values; null clears) to the values of a subscriber, or returns all errors.
 * Other values in `current` stay, including those of archived fields. `create` needs every required field; `update` must
 * not clear one.
 */
export function applyCustomFields(
  definitions: readonly CustomFieldDefinition[],
  current: CustomFieldValues,
  changes: Readonly<Record<string, unknown>>,
  mode: 'create' | 'update',
): { readonly values: CustomFieldValues } | { readonly errors: CustomFieldErrors } {
  const known = activeByKey(definitions);
  const values = new Map(Object.entries(current));
  const errors = new Map<string, string>();
  for (const [key, input] of Object.entries(changes)) {
    const fault = applyOne(known.get(key), key, input, values);
    if (fault !== null) errors.set(key, fault);
  }
  if (mode === 'create') {
    for (const { key, isRequired } of known.values()) {
      if (isRequired && !values.has(key) && !errors.has(key)) errors.set(key, 'is required');
    }
  }
  if (errors.size === 0 && Object.keys(changes).length > 0 && isTooMuch(values, known)) {
    errors.set(WHOLE_SUBSCRIBER, 'must be at most 16 KB in total');
  }
  return errors.size > 0 ? { errors: Object.fromEntries(errors) } : { values: Object.fromEntries(values) };
}

/** The errors by their path in a request: `customFields.plan`, `customFields`. */
export function customFieldPaths(errors: CustomFieldErrors, root = 'customFields'): Record<string, string> {
  return Object.fromEntries(
    Object.entries(errors).map(([key, fault]) => [key === WHOLE_SUBSCRIBER ? root : `${root}.${key}`, fault]),
  );
}

/** The values that templates use for subscribers without one, by key, in the types of the fields. */
export function templateDefaults(definitions: readonly CustomFieldDefinition[]): CustomFieldValues {
  return Object.fromEntries(
    definitions.flatMap((definition) => {
      const value = isActive(definition) ? defaultOf(definition) : null;
      return value === null ? [] : [[definition.key, value]];
    }),
  );
}

function defaultOf(definition: CustomFieldDefinition): CustomFieldValue | null {
  if (definition.defaultValue === null) return null;
  const parsed = parseCustomFieldValue(definition, definition.defaultValue);
  return 'value' in parsed ? parsed.value : null;
}

/** Index of a list of definitions, which an import uses for thousands of rows. */
const indexed = new WeakMap<readonly CustomFieldDefinition[], ReadonlyMap<string, CustomFieldDefinition>>();

function activeByKey(
  definitions: readonly CustomFieldDefinition[],
): ReadonlyMap<string, CustomFieldDefinition> {
  let known = indexed.get(definitions);
  if (known === undefined) {
    known = new Map(definitions.filter(isActive).map((definition) => [definition.key, definition]));
    indexed.set(definitions, known);
  }
  return known;
}

function isActive({ status }: CustomFieldDefinition): boolean {
  return status === 'ACTIVE';
}

function applyOne(
  definition: CustomFieldDefinition | undefined,
  key: string,
  input: unknown,
  values: Map<string, CustomFieldValue>,
): string | null {
  if (definition === undefined) return 'is not a known field';
  const parsed = parseCustomFieldValue(definition, input);
  if ('fault' in parsed) return parsed.fault;
  if (definition.isRequired && isBlank(parsed.value)) return 'is required';
  if (parsed.value === null) values.delete(key);
  else values.set(key, parsed.value);
  return null;
}

/** An empty value, which a required field refuses. */
function isBlank(value: CustomFieldValue | null): boolean {
  if (value === null) return true;
  return typeof value === 'string' ? value.trim() === '' : Array.isArray(value) && value.length === 0;
}

/** The most bytes of JSON for one unit of a JavaScript string: an escape such as \u0000. */
const MOST_OCTETS = 6;
/** The most bytes of JSON for a number or boolean, and for the punctuation of a key. */
const SMALL_VALUE = 32;

function isTooMuch(
  values: ReadonlyMap<string, CustomFieldValue>,
  known: ReadonlyMap<string, CustomFieldDefinition>,
): boolean {
  let most = 0;
  for (const [key, value] of values) most += MOST_OCTETS * (key.length + unitsOf(value)) + SMALL_VALUE;
  if (most <= MAX_VALUES_OCTETS) return false;
  const active = [...values].filter(([key]) => known.has(key));
  return Buffer.byteLength(JSON.stringify(Object.fromEntries(active))) > MAX_VALUES_OCTETS;
}

function unitsOf(value: CustomFieldValue): number {
  if (typeof value === 'string') return value.length;
  return Array.isArray(value) ? value.reduce((sum: number, item: string) => sum + item.length + 3, 0) : 0;
}

/** A digest of definitions: equal for definitions that read all values alike, in any order. */
export function definitionsDigest(definitions: readonly CustomFieldDefinition[]): string {
  const rules = definitions
    .map(({ key, type, isRequired, options, status }) => [
      key,
      type,
      isRequired,
      status,
      options.map(({ value }) => value),
    ])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(rules)).digest('base64url');
}
