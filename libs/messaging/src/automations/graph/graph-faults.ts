/** The faults of a graph by the path of the part; the first one of each part. */
export class GraphFaults {
  readonly #byPath = new Map<string, string>();

  add(path: string, fault: string): null {
    if (!this.#byPath.has(path)) this.#byPath.set(path, fault);
    return null;
  }

  addAll(faults: Readonly<Record<string, string>>): void {
    for (const [path, fault] of Object.entries(faults)) this.add(path, fault);
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
