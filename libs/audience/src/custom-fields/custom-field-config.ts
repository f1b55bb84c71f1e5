import { DomainValidationError } from '#kernel';
import { type CustomField, type CustomFieldOption, hasOptions } from './custom-field.js';
import { parseCustomFieldValue } from './custom-field-value.js';

/** The errors in the options and default of a field, by `options` and `defaultValue`. */
export function configFaults(
  field: Pick<CustomField, 'type' | 'options' | 'defaultValue'>,
): Readonly<Record<string, string>> {
  const options = optionsFault(field);
  if (options !== null) return { options };
  if (field.defaultValue === null) return {};
  const parsed = parseCustomFieldValue(field, field.defaultValue);
  return 'fault' in parsed ? { defaultValue: parsed.fault } : {};
}

/** The values of options that a change removes. */
export function goneOptions(
  before: readonly CustomFieldOption[],
  after: readonly CustomFieldOption[],
): readonly string[] {
  const kept = new Set(after.map(({ value }) => value));
  return before.map(({ value }) => value).filter((value) => !kept.has(value));
}

/** The error in the number of options for a type, or null. */
export function optionsFault({ type, options }: Pick<CustomField, 'type' | 'options'>): string | null {
  if (hasOptions(type)) return options.length === 0 ? `must have at least 1 item for ${type}` : null;
  return options.length === 0 ? null : `must be empty for ${type}`;
}

/** Throws DomainValidationError unless there are none. */
export function refuseFaults(errors: Readonly<Record<string, string>>): void {
  if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
}
