import { isDay } from '#kernel';

export const TEMPLATE_KINDS = ['CAMPAIGN', 'MESSAGE', 'PARTIAL', 'OPT_IN'] as const;
export type TemplateKind = (typeof TEMPLATE_KINDS)[number];

export const VARIABLE_TYPES = ['STRING', 'NUMBER', 'BOOLEAN', 'DATE', 'OBJECT', 'LIST'] as const;
export type VariableType = (typeof VARIABLE_TYPES)[number];

/** A value of `data` that a template asks for. */
export interface TemplateVariable {
  /** Dotted, without `data.`: `order.id`. */
  readonly name: string;
  readonly type: VariableType;
  /** Mail without it is refused, unless it has a default. */
  readonly required: boolean;
  readonly default?: unknown;
}

type Data = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** ISO 8601: a day, or a moment with its offset. */
const DATE =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/;

const isDate = (value: string): boolean =>
  DATE.test(value) && isDay(value.slice(0, 10)) && !Number.isNaN(Date.parse(value));

const TYPES: Readonly<
  Record<VariableType, { readonly is: (value: unknown) => boolean; readonly words: string }>
> = {
  STRING: { is: (value) => typeof value === 'string', words: 'a string' },
  NUMBER: { is: (value) => typeof value === 'number', words: 'a number' },
  BOOLEAN: { is: (value) => typeof value === 'boolean', words: 'true or false' },
  DATE: {
    is: (value) => typeof value === 'string' && isDate(value),
    words: 'a date such as 2027-01-05 or 2027-01-05T09:00:00Z',
  },
  OBJECT: { is: isRecord, words: 'an object' },
  LIST: { is: Array.isArray, words: 'a list' },
};

/** Faults of declarations, by path: `variables[2].default`. */
export function variableFaults(variables: readonly TemplateVariable[]): Record<string, string> {
  const faults: Record<string, string> = {};
  const types = new Map<string, VariableType>();
  for (const [index, { name, type, default: byDefault }] of variables.entries()) {
    if (types.has(name)) faults[`variables[${index}].name`] = `declares ${name} again`;
    types.set(name, type);
    if (byDefault !== undefined && !TYPES[type].is(byDefault))
      faults[`variables[${index}].default`] = `must be ${TYPES[type].words}`;
  }
  for (const [index, { name }] of variables.entries()) {
    const outer = ancestorsOf(name).find((one) => types.has(one) && types.get(one) !== 'OBJECT');
    if (outer !== undefined) faults[`variables[${index}].name`] ??= `is inside ${outer}, which is no OBJECT`;
  }
  return faults;
}

/** `order` and `order.address` of `order.address.city`. */
function ancestorsOf(name: string): string[] {
  const names = name.split('.');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('.'));
}

/** Data with the defaults of what it lacks, or every fault of it by path: `data.order.id`. */
export function checkedData(
  variables: readonly TemplateVariable[],
  data: Data,
):
  | { readonly data: Data; readonly faults?: never }
  | { readonly faults: Readonly<Record<string, string>>; readonly data?: never } {
  const faults: Record<string, string> = {};
  let filled = data;
  for (const { name, type, required, default: byDefault } of variables) {
    const names = name.split('.');
    const value = valueAt(data, names);
    if (value !== undefined) {
      if (!TYPES[type].is(value)) faults[`data.${name}`] = `must be ${TYPES[type].words}`;
    } else if (byDefault === undefined) {
      if (required) faults[`data.${name}`] = 'is required';
    } else {
      const blocking = ancestorsOf(name).find((outer) => {
        const given = valueAt(data, outer.split('.'));
        return given !== undefined && !isRecord(given);
      });
      if (blocking !== undefined) faults[`data.${blocking}`] ??= 'must be an object';
      else filled = withValue(filled, names, byDefault);
    }
  }
  return Object.keys(faults).length > 0 ? { faults } : { data: filled };
}

/** Null counts as nothing. */
function valueAt(data: Data, names: readonly string[]): unknown {
  let value: unknown = data;
  for (const name of names) value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value ?? undefined;
}

/** Data with a value at a path. */
export function withValue(data: Data, [name = '', ...rest]: readonly string[], value: unknown): Data {
  if (rest.length === 0) return { ...data, [name]: value };
  const inner = Object.hasOwn(data, name) ? data[name] : undefined;
  return { ...data, [name]: withValue(isRecord(inner) ? inner : {}, rest, value) };
}

/** Liquid reads these from a list or text itself. */
const COMPUTED = new Set(['size', 'first', 'last']);

/** True where `used`, a dotted name behind `data.`, is declared, is a part of what is, or has a part that is. */
export function isDeclared(
  variables: readonly Pick<TemplateVariable, 'name' | 'type'>[],
  used: string,
): boolean {
  return variables.some(({ name, type }) => {
    if (used === name || name.startsWith(`${used}.`)) return true;
    if (!used.startsWith(`${name}.`)) return false;
    return type === 'OBJECT' || type === 'LIST' || COMPUTED.has(used.slice(name.length + 1));
  });
}
