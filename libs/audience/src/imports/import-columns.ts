import type { CustomFieldDefinition } from '../custom-fields/custom-field.js';

/** Columns of every import, and of the exported file of subscribers. */
export const SYSTEM_COLUMNS = [
  'email',
  'externalId',
  'firstName',
  'lastName',
  'phone',
  'locale',
  'timeZone',
] as const;

/** Columns of a file of addresses to suppress. */
export const SUPPRESSION_COLUMNS = ['email', 'reason'] as const;

/** The field of a column: `email`, `customFields.plan`; null: the column is left out. */
export type ColumnTarget = string | null;

/** Column name → field name, or null for a column to leave out. */
export type ColumnMapping = Readonly<Record<string, string | null>>;

/** The fields and mapping that column names are matched with. */
export interface ColumnRules {
  readonly columns: readonly string[];
  readonly mapping: ColumnMapping;
  readonly definitions: readonly CustomFieldDefinition[];
}

type Errors = Readonly<Record<string, string>>;

export interface ChosenColumns {
  readonly targets: readonly ColumnTarget[];
  /** Errors that no project could accept. */
  readonly faults: Errors;
  /** Names that this project does not have. */
  readonly unknown: Errors;
}

const CUSTOM_PREFIX = 'customFields.';
const MAPPING = 'mapping names its field, or null to leave it out';

/**
 * Finds the field of each column. A name is a field's (`firstName`, also `first_name` or `First name`), the key of a custom
 * field with or without `customFields.`, or in `mapping`. `pathOf` names a column in the errors.
 */
export function chooseColumns(
  names: readonly string[],
  { columns, mapping, definitions }: ColumnRules,
  pathOf: (index: number) => string,
): ChosenColumns {
  const keys = new Set(definitions.map(({ key }) => key));
  // Beside customFields.locale a column locale is the language, whatever fields there are.
  const prefixed = new Set(names.map((given) => customFieldOf(given.trim())));
  const isHidden = (key: string) => prefixed.has(key) && targetOf(key, columns, new Set()) !== null;
  const plainKeys = new Set([...keys].filter((key) => !isHidden(key)));
  const faults: Record<string, string> = {};
  const unknown: Record<string, string> = {};
  const taken = new Set<string>();
  const targets = names.map((given, index) => {
    const name = given.trim();
    const isMapped = Object.hasOwn(mapping, name);
    const wanted = isMapped ? mapping[name]! : name;
    if (isMapped && wanted === null) return null;
    const target = targetOf(wanted, columns, customFieldOf(wanted) === null ? plainKeys : keys);
    const path = isMapped ? `mapping.${name}` : pathOf(index);
    if (target === null) unknown[path] = isMapped ? 'is not a known field' : unknownColumn(name);
    else if (taken.has(target)) faults[pathOf(index)] = `holds ${target} again`;
    else taken.add(target);
    return target;
  });
  for (const name of Object.keys(mapping)) {
    if (!names.some((given) => given.trim() === name)) faults[`mapping.${name}`] = 'is not a column';
  }
  return { targets, faults, unknown };
}

/** The custom field of a column, or null. */
export function customFieldOf(target: string): string | null {
  return target.startsWith(CUSTOM_PREFIX) ? target.slice(CUSTOM_PREFIX.length) : null;
}

/** The field of a column without a mapping; null when the name is not known. */
export function targetOf(
  name: string,
  columns: readonly string[],
  customKeys: ReadonlySet<string>,
): ColumnTarget {
  const key = customFieldOf(name);
  if (key !== null) return customKeys.has(key) ? name : null;
  if (customKeys.has(name)) return `${CUSTOM_PREFIX}${name}`;
  const plain = name.toLowerCase().replaceAll(/[\s_-]/g, '');
  return columns.find((column) => column.toLowerCase() === plain) ?? null;
}

/** Shows a name shortened, which may be anything, such as a whole line of a file without a header. */
function unknownColumn(name: string): string {
  if (name === '') return 'has no name: give it one, or leave it out with "" in mapping';
  const text = name.replaceAll(/\p{Cc}/gu, ' ').toWellFormed();
  return `is not a known column: ${text.length > 60 ? `${text.slice(0, 60)}…` : text}; ${MAPPING}`;
}
