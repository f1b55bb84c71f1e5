type Method = (...parameters: never[]) => unknown;

/** Methods of providers that a decorator has marked, each with a note: found when a program starts. */
export class DecoratedMethods<Note, Run extends Method> {
  readonly #notes = new WeakMap<object, Note>();

  /** Decorates a method of the type `Own`. */
  mark<Own extends Run>(note: Note) {
    return <Decorated extends Own>(
      _prototype: object,
      _name: string | symbol,
      { value }: TypedPropertyDescriptor<Decorated>,
    ): void => {
      if (value !== undefined) this.#notes.set(value, note);
    };
  }

  /** Marked methods of the instances, bound to them. One instance may come several times. */
  find(instances: Iterable<unknown>): { readonly note: Note; readonly run: Run }[] {
    return [...new Set(instances)].flatMap((instance) =>
      methodsOf(instance).flatMap((method) => {
        const note = this.#notes.get(method);
        return note === undefined ? [] : [{ note, run: method.bind(instance) as Run }];
      }),
    );
  }
}

/** Methods of an object's class and of those that it extends; an overridden one is left out. */
function methodsOf(instance: unknown): Method[] {
  if (typeof instance !== 'object' || instance === null) return [];
  const methods = new Map<string, unknown>();
  let prototype: unknown = Object.getPrototypeOf(instance);
  while (typeof prototype === 'object' && prototype !== null && prototype !== Object.prototype) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
      if (!methods.has(name)) methods.set(name, value);
    prototype = Object.getPrototypeOf(prototype);
  }
  return [...methods.values()].filter((method): method is Method => typeof method === 'function');
}

/** First name that stands there twice. */
export const repeatedIn = (names: readonly string[]): string | undefined =>
  names.find((name, place) => names.indexOf(name) < place);
