import { parseDate, parseDateTime } from '../custom-fields/custom-field-value.js';
import { parseDuration } from './rule-dates.js';
import type { DayOrMoment, RuleDuration } from './rule.js';

/** A JSON object with unknown members. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The errors in rules, by path; the first one for each path. */
export class RuleFaults {
  readonly #byPath = new Map<string, string>();

  add(path: string, fault: string): null {
    if (!this.#byPath.has(path)) this.#byPath.set(path, fault);
    return null;
  }

  get isEmpty(): boolean {
    return this.#byPath.size === 0;
  }

  get errors(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#byPath);
  }

  /** The object; null after adding an error. */
  object(value: unknown, path: string): JsonObject | null {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
    return this.add(path, value === undefined ? 'is required' : 'must be an object');
  }

  string(value: unknown, path: string): string | null {
    if (typeof value === 'string' && value.isWellFormed() && !value.includes('\u0000')) return value;
    if (typeof value === 'string') return this.add(path, 'is not valid Unicode text');
    return this.add(path, value === undefined ? 'is required' : 'must be a string');
  }

  number(value: unknown, path: string): number | null {
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    return this.add(path, value === undefined ? 'is required' : 'must be a number');
  }

  /** A list of at least one item, each read by `item`; null when one is not valid. */
  list<Item>(
    value: unknown,
    path: string,
    item: (value: unknown, path: string) => Item | null,
  ): readonly Item[] | null {
    if (!Array.isArray(value)) return this.add(path, value === undefined ? 'is required' : 'must be a list');
    if (value.length === 0) return this.add(path, 'must not be empty');
    const items = value.map((each: unknown, index) => item(each, `${path}[${index}]`));
    return items.some((each) => each === null) ? null : (items as readonly Item[]);
  }

  oneOf<Choice extends string>(value: unknown, choices: readonly Choice[], path: string): Choice | null {
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    return this.add(path, value === undefined ? 'is required' : `must be one of ${choices.join(', ')}`);
  }

  /** Refuses unknown members. */
  onlyMembers(object: JsonObject, known: readonly string[], path: string): void {
    for (const name of Object.keys(object)) {
      if (!known.includes(name)) this.add(`${path}.${name}`, 'is not a known field');
    }
  }
}

/** The object's own member, never one of its prototype. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** A duration; null after adding an error. */
export function readDuration(value: unknown, path: string, faults: RuleFaults): RuleDuration | null {
  const text = faults.string(value, path);
  if (text === null) return null;
  const parsed = parseDuration(text);
  return 'fault' in parsed ? faults.add(path, parsed.fault) : parsed.duration;
}

/** A timestamp with its offset; null after adding an error. */
export function readMoment(value: unknown, path: string, faults: RuleFaults): Date | null {
  const text = faults.string(value, path);
  if (text === null) return null;
  const parsed = parseDateTime(text);
  return 'fault' in parsed ? faults.add(path, parsed.fault) : new Date(String(parsed.value));
}

/** A day, or for DATETIME also a timestamp; null after adding an error. */
export function readDayOrMoment(
  value: unknown,
  path: string,
  of: 'date' | 'moment',
  faults: RuleFaults,
): DayOrMoment | null {
  const text = faults.string(value, path);
  if (text === null) return null;
  const day = parseDate(text);
  if ('value' in day) return { day: String(day.value) };
  if (of === 'date') return faults.add(path, day.fault);
  const moment = parseDateTime(text);
  return 'fault' in moment ? faults.add(path, moment.fault) : { moment: new Date(String(moment.value)) };
}
