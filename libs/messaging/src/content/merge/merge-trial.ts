import {
  AssignTag,
  Context,
  type Emitter,
  type Liquid,
  LiquidError,
  Output,
  ParseError,
  Parser,
  type Scope,
  type Template,
  TokenKind,
  type TopLevelToken,
  Value,
} from 'liquidjs';
import { asMergeTemplateError } from './merge-tags.js';

type OutputToken = ConstructorParameters<typeof Output>[0];
type PropertyPath = Parameters<Context['_getFromScope']>[1];

/** Result of filling in a part of a mail whose reader is not known. */
export interface PartTrial {
  /** Null where it cannot be filled in. */
  readonly text: string | null;
  /** Reason why it cannot be filled in, whoever reads it; null: none, or one that its reader's values may have a part in. */
  readonly fault: string | null;
  /** Paths of values of `data` that are shown without a default, and are not there: `data.items[1].name`. */
  readonly missing: readonly string[];
  /** Paths of objects in `data` that are shown, and of lists of them. */
  readonly objects: readonly string[];
}

/** Fills in a template with the values of nobody, beside those that are known. */
export function tryOut(engine: Liquid, templates: Template[], values: object): PartTrial {
  const context = new TrialValues(values, engine);
  const { text, fault } = rendered(engine, templates, context);
  const { missing, objects } = context.shown;
  return { text, fault, missing: [...missing], objects: [...objects] };
}

function rendered(
  engine: Liquid,
  templates: Template[],
  context: TrialValues,
): Pick<PartTrial, 'text' | 'fault'> {
  try {
    return { text: String(engine.renderSync(templates, context)), fault: null };
  } catch (error) {
    const { message } = asMergeTemplateError(error);
    return { text: null, fault: context.dependsOnReader ? null : message };
  }
}

/** Values of a mail's reader, who is not known before it is sent but for the address. */
const isOfReader = ([root, name]: readonly unknown[]): boolean =>
  root === 'custom' || (root === 'subscriber' && name !== 'email');

/** Reads of values that are shown, or that a variable is made of. */
interface Reading {
  /** Paths of values that are not there: `data.items[1].name`. */
  readonly missing: Set<string>;
  /** Paths of objects, and of lists with objects, which no text can be made of. */
  readonly objects: Set<string>;
}

/** A variable of the template's own, and the reads that it was made of. */
interface Variable extends Reading {
  readonly value: unknown;
}

const newReading = (): Reading => ({ missing: new Set(), objects: new Set() });

/** The values of a template. `size` of an object is its own `size`, if it has one: not the number of its members. */
export class Values extends Context {
  constructor(values: object, engine: Liquid) {
    super(values, engine.options, { sync: true }, { liquid: engine });
  }

  override readProperty(value: Scope, key: unknown): unknown {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (key === 'size' && isObject && !Object.hasOwn(value, 'size')) return undefined;
    return super.readProperty(value, key as string) as unknown;
  }
}

/** Values of a template that is filled in to see whether it can be. */
export class TrialValues extends Values {
  /** Reads of all that was shown. */
  readonly shown = newReading();
  readonly #variables = new Map<string, Variable>();
  /** The collections of loops, by the scope of their items. */
  readonly #collections = new WeakMap<object, unknown>();
  #collection: unknown;
  #reading: Reading | null = null;
  #decidedByReader = false;
  #shownOfReader = false;
  #isShowing = false;

  /** True where values of the reader, who is nobody here, have had a part in what is being filled in. */
  get dependsOnReader(): boolean {
    return this.#decidedByReader || this.#shownOfReader;
  }

  /** Runs the rendering of an output. */
  *showing(output: Iterable<unknown>, filters: readonly string[]): Generator<unknown, void, unknown> {
    // A value with a default may be missing, and an object may be counted.
    this.#reading = {
      missing: filters.includes('default') ? new Set() : this.shown.missing,
      objects: filters.includes('size') ? new Set() : this.shown.objects,
    };
    this.#isShowing = true;
    this.#shownOfReader = false;
    yield* output;
    this.#shownOfReader = false;
    this.#isShowing = false;
    this.#reading = null;
  }

  /** Runs the rendering of an `assign`. */
  *assigning(
    assign: Iterable<unknown>,
    name: string,
    filters: readonly string[],
  ): Generator<unknown, void, unknown> {
    const reading = newReading();
    this.#reading = reading;
    yield* assign;
    this.#reading = null;
    const value: unknown = this.bottom()[name as never];
    const isText = typeof value === 'string' && !filters.includes('size');
    this.#variables.set(name, {
      value,
      missing: filters.includes('default') ? new Set() : reading.missing,
      objects: isText ? reading.objects : new Set(),
    });
  }

  /** The collection of the loop whose scope comes next. */
  goThrough(collection: unknown): void {
    this.#collection = collection;
  }

  override push(scope: object): number {
    if ('forloop' in scope) this.#collections.set(scope, this.#collection);
    return super.push(scope);
  }

  override *_getFromScope(
    scope: unknown,
    path: PropertyPath,
    strictVariables?: boolean,
  ): IterableIterator<unknown> {
    const names: readonly unknown[] = typeof path === 'string' ? path.split('.') : path;
    if (scope === this.environments && isOfReader(names)) {
      if (this.#isShowing) this.#shownOfReader = true;
      else this.#decidedByReader = true;
    }
    const value: unknown = yield super._getFromScope(scope, path, strictVariables);
    if (this.#reading !== null) this.#note(this.#reading, scope, names, value);
    return value;
  }

  #note(reading: Reading, scope: unknown, names: readonly unknown[], value: unknown): void {
    const name = String(names[0]);
    const variable = scope === this.bottom() ? this.#variables.get(name) : undefined;
    // A `capture` may have given the name to something else.
    if (variable !== undefined && variable.value === this.bottom()[name as never]) {
      for (const path of variable.missing) reading.missing.add(path);
      for (const path of variable.objects) reading.objects.add(path);
    }
    const isMissing = value === undefined || value === null;
    if (!isMissing && !this.#placeOf(value)?.hasObject) return;
    const path = this.#pathOf(scope, names);
    if (path !== null) (isMissing ? reading.missing : reading.objects).add(path);
  }

  /** Path of a value in `data`, whichever way it was come to; null of any other. */
  #pathOf(scope: unknown, names: readonly unknown[]): string | null {
    let value = scope;
    let path: string | null = null;
    for (const name of names) {
      const inner: unknown = this.readProperty(value as Scope, name);
      const known = this.#placeOf(inner)?.path;
      if (known !== undefined) path = known;
      else if (value === scope) path = this.#pathOfItem(scope, name, inner);
      else if (path !== null) path = isKey(name) ? path + step(value, name) : null;
      value = inner;
    }
    return path;
  }

  /** Path of an item that a loop is at; equal ones are named by the first. */
  #pathOfItem(scope: unknown, name: unknown, item: unknown): string | null {
    const list = this.#collections.get(scope as object);
    const place = this.#placeOf(list);
    if (name === 'forloop' || place === undefined || !Array.isArray(list)) return null;
    return `${place.path}[${list.indexOf(item)}]`;
  }

  #placeOf(value: unknown): Place | undefined {
    if (typeof value !== 'object' || value === null) return undefined;
    const { data } = this.environments as { readonly data?: object };
    return data === undefined ? undefined : placesIn(data).get(value);
  }
}

/** Place of an object or a list in `data`. */
interface Place {
  readonly path: string;
  /** The list that it is an item of. */
  readonly list: Place | null;
  /** It is an object, or has one among its items. */
  hasObject: boolean;
}

const PLACES = new WeakMap<object, ReadonlyMap<object, Place>>();

function placesIn(data: object): ReadonlyMap<object, Place> {
  const known = PLACES.get(data);
  if (known !== undefined) return known;
  const places = new Map<object, Place>([[data, { path: 'data', list: null, hasObject: true }]]);
  // Entries that are added meanwhile come up as well.
  for (const [outer, place] of places)
    for (const [name, value] of Object.entries(outer) as [string, unknown][]) {
      if (typeof value !== 'object' || value === null) continue;
      const list = Array.isArray(outer) ? place : null;
      const hasObject = !Array.isArray(value);
      places.set(value, { path: place.path + step(outer, name), list, hasObject });
      if (hasObject) markLists(list);
    }
  PLACES.set(data, places);
  return places;
}

function markLists(list: Place | null): void {
  for (let around = list; around?.hasObject === false; around = around.list) around.hasObject = true;
}

const isKey = (name: unknown): name is string | number =>
  typeof name === 'string' || typeof name === 'number';

/** The end of a path: `.name`, `[1]`, `["first name"]`. */
function step(outer: unknown, name: string | number): string {
  if (typeof name === 'number' || (Array.isArray(outer) && /^\d+$/.test(name))) return `[${name}]`;
  return /^[A-Za-z_][\w-]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

/** Parser whose outputs tell a trial that values are shown. */
export class TrialParser extends Parser {
  readonly #engine: Liquid;

  constructor(engine: Liquid) {
    super(engine);
    this.#engine = engine;
  }

  override parseToken(token: TopLevelToken, rest: TopLevelToken[]): ReturnType<Parser['parseToken']> {
    if (token.kind !== TokenKind.Output) return super.parseToken(token, rest);
    try {
      return new TrialOutput(token as OutputToken, this.#engine);
    } catch (error) {
      throw LiquidError.is(error) ? error : new ParseError(error as Error, token);
    }
  }
}

class TrialOutput extends Output {
  override *render(context: Context, emitter: Emitter): IterableIterator<unknown> {
    const rendering = super.render(context, emitter);
    if (context instanceof TrialValues) yield* context.showing(rendering, filterNames(this.value));
    else yield* rendering;
  }
}

/** `assign` that tells a trial which values a variable is made of. */
export class TrialAssignTag extends AssignTag {
  override *render(context: Context): Generator<unknown, void, unknown> {
    const rendering = super.render(context);
    const [identifier] = this.localScope();
    const [value] = this.arguments();
    if (context instanceof TrialValues && identifier !== undefined && value instanceof Value)
      yield* context.assigning(rendering, identifier.content, filterNames(value));
    else yield* rendering;
  }
}

const filterNames = ({ filters }: Value): string[] => filters.map(({ name }) => name);
