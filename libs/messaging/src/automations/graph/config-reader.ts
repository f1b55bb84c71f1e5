/** The faults of a graph by the path of the part; the first one of each part. */
export class GraphFaults {
  readonly #byPath = new Map<string, string>();

  add(path: string, fault: string): null {
    if (!this.#byPath.has(path)) this.#byPath.set(path, fault);
    return null;
  }

  /** Adds faults by their paths below `path`. */
  addAll(faults: Readonly<Record<string, string>>, path = ''): void {
    for (const [inner, fault] of Object.entries(faults)) this.add(`${path}${inner}`, fault);
  }

  get isEmpty(): boolean {
    return this.#byPath.size === 0;
  }

  get byPath(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#byPath);
  }
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** True for what JSON calls an object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member itself, never one of the prototype. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Text that PostgreSQL can hold. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\u0000');
}

export interface TextBounds {
  readonly max: number;
  /** Without line breaks and other control characters. */
  readonly oneLine?: boolean;
}

const CONTROL = /\p{Cc}/u;
const CONTROL_BUT_LAYOUT = /[^\P{Cc}\t\n\r]/u;

/** Reads the members of one object and collects their faults. */
export class ConfigReader {
  constructor(
    private readonly object: JsonObject,
    readonly path: string,
    readonly faults: GraphFaults,
    known: readonly string[],
  ) {
    for (const name of Object.keys(object)) {
      if (!known.includes(name)) faults.add(this.at(name), 'is not a known field');
    }
  }

  at(name: string): string {
    return `${this.path}.${name}`;
  }

  has(name: string): boolean {
    return this.value(name) !== null;
  }

  /** True for null, too. */
  isGiven(name: string): boolean {
    return member(this.object, name) !== undefined;
  }

  /** Null when it is absent. */
  value(name: string): unknown {
    return member(this.object, name) ?? null;
  }

  fault(name: string, fault: string): null {
    return this.faults.add(this.at(name), fault);
  }

  required(name: string, bounds: TextBounds): string | null {
    if (!this.has(name)) return this.fault(name, 'is required');
    const text = this.text(name, bounds);
    return text !== null && text.trim() === '' ? this.fault(name, 'must not be empty') : text;
  }

  text(name: string, { max, oneLine = true }: TextBounds): string | null {
    const value = this.value(name);
    if (value === null) return null;
    if (typeof value !== 'string') return this.fault(name, 'must be a string');
    if (!isText(value)) return this.fault(name, 'is not valid Unicode text');
    if (isLonger(value, max)) return this.fault(name, `must be at most ${max} characters`);
    if ((oneLine ? CONTROL : CONTROL_BUT_LAYOUT).test(value))
      return this.fault(name, 'must not contain control characters');
    return value;
  }

  oneOf<Choice extends string>(name: string, choices: readonly Choice[]): Choice | null {
    const value = this.value(name);
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    return this.fault(name, value === null ? 'is required' : `must be one of ${choices.join(', ')}`);
  }

  /** A reader of the member, an object; null when it is absent or none. */
  inner(name: string, known: readonly string[]): ConfigReader | null {
    const value = this.value(name);
    if (value === null) return null;
    if (!isObject(value)) return this.fault(name, 'must be an object');
    return new ConfigReader(value, this.at(name), this.faults, known);
  }

  /** The text of JSON that is given as an object or as text; null when it is absent. */
  json(name: string): string | null {
    const value = this.value(name);
    if (value === null) return this.fault(name, 'is required');
    if (isObject(value)) return JSON.stringify(value);
    return isText(value) ? value : this.fault(name, 'must be an object');
  }
}

/** Counted in code points, as everywhere in the API. */
function isLonger(text: string, max: number): boolean {
  return (
    text.length > max && text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0) > max
  );
}
