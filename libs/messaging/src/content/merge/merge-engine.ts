import {
  type Context,
  type Emitter,
  evalToken,
  filters,
  ForTag,
  Liquid,
  type Template,
  toValueSync,
} from 'liquidjs';
import { linkBeginnings } from './merge-links.js';
import { FORMAT_FILTERS } from './merge-formats.js';
import {
  isNoNumber,
  linkValue,
  type MergeEscaping,
  mergeText,
  OUTPUT_ESCAPES,
  SHARED_FILTERS,
  STYLE_FILTER,
} from './merge-output.js';
import { type TemplatePiece, withFilter } from './merge-tags.js';
import { type PartTrial, TrialAssignTag, TrialParser, TrialValues, tryOut, Values } from './merge-trial.js';

/**
 * Bounds of one template: characters parsed, and units of memory and work: a character that is made or a turn's share of one
 * that is read. The milliseconds only end what nobody thought of.
 */
const LIMITS = { parseLimit: 4_000_000, memoryLimit: 1_000_000, renderLimit: 4_000 };
const COST_OF_TURN = 50;
const COST_OF_NODE = 10;
/** Characters of one part. */
const LONGEST_OUTPUT = 2_000_000;

// Tags that read files, keep state or write values past the escaping (`raw`, `echo`, `cycle`) are not here.
const TAGS = new Set('if unless case for break continue assign capture comment #'.split(' '));

const ARITHMETIC = 'plus minus times divided_by modulo round ceil floor abs at_least at_most'.split(' ');

const FILTERS = new Set([
  ...(
    'default append prepend replace replace_first remove remove_first truncate truncatewords strip lstrip ' +
    'rstrip strip_html strip_newlines slice split join first last size sort reverse uniq compact url_encode'
  ).split(' '),
  ...ARITHMETIC,
]);

const LINK_FILTER = 'mailwright_link';

/** `for` with all that each turn may come to charged to the memory limit, so that its bound does not depend on the clock. */
class BoundedForTag extends ForTag {
  /** All that is inside of it, once. A loop in it charges its own turns itself. */
  readonly #costOfTurn = COST_OF_TURN + costOf(this.templates);

  override *render(context: Context, emitter: Emitter): Generator<unknown, void | string, Template[]> {
    const collection: unknown = yield evalToken(this.collection, context);
    const turns = Array.isArray(collection) || typeof collection === 'string' ? collection.length : 1;
    context.memoryLimit.use(turns * this.#costOfTurn);
    if (context instanceof TrialValues) context.goThrough(collection);
    return yield* super.render(context, emitter);
  }
}

function costOf(templates: readonly Template[]): number {
  let cost = 0;
  for (const template of templates) {
    cost += COST_OF_NODE + template.token.end - template.token.begin;
    if (template.children !== undefined) cost += costOf(toValueSync(template.children(false, true)));
  }
  return cost;
}

/** Filters that Liquid does not know, charged as its own are. */
function charged(filter: (value: unknown) => unknown) {
  return function (this: { readonly context: Context }, value: unknown): unknown {
    this.context.memoryLimit.use(mergeText(value).length);
    return filter(value);
  };
}

type Filter = (this: unknown, value: unknown, ...args: unknown[]) => unknown;

/** Liquid's own, which has NaN for a division by 0: the next filter would make 0 of it. */
function modulo(this: unknown, value: unknown, ...args: unknown[]): unknown {
  const rest = (filters['modulo'] as Filter).call(this, value, ...args);
  return isNoNumber(rest) ? Number.POSITIVE_INFINITY : rest;
}

/** The filter, which takes a quotient by 0 as nothing. */
const ofNumbersThatAre = (filter: Filter): Filter =>
  function (value, ...args) {
    return filter.call(this, isNoNumber(value) ? null : value, ...args);
  };

const BY_ZERO = /\|\s*(?:divided_by|modulo)\s*:\s*[+-]?0+(?:\.0*)?(?![\d.])/;

function createEngine(escaping: MergeEscaping, output: Output): Liquid {
  const engine = new Liquid({
    ...LIMITS,
    templates: {},
    dynamicPartials: false,
    ownPropertyOnly: true,
    strictFilters: true,
    timezoneOffset: 0,
    locale: 'en',
    outputEscape: (value) => output.take(OUTPUT_ESCAPES[escaping](value)),
  });
  for (const tag of Object.keys(engine.tags)) if (!TAGS.has(tag)) delete engine.tags[tag];
  for (const filter of Object.keys(engine.filters)) if (!FILTERS.has(filter)) engine.unregisterFilter(filter);
  for (const [name, filter] of Object.entries(SHARED_FILTERS)) engine.registerFilter(name, charged(filter));
  for (const [name, filter] of Object.entries(FORMAT_FILTERS)) engine.registerFilter(name, filter);
  engine.registerFilter(LINK_FILTER, linkValue);
  for (const [name, filter] of Object.entries(engine.filters))
    if (!ARITHMETIC.includes(name)) engine.registerFilter(name, ofNumbersThatAre(filter as Filter));
  engine.registerFilter('modulo', modulo);
  engine.registerTag('for', BoundedForTag);
  engine.registerTag('assign', TrialAssignTag);
  return engine;
}

/** Length of the outputs of the template that is being filled in. */
class Output {
  #length = 0;

  take(text: string): string {
    this.#length += text.length;
    if (this.#length > LONGEST_OUTPUT) throw new Error('output limit exceeded');
    return text;
  }

  clear(): void {
    this.#length = 0;
  }
}

// Templates are filled in one after the other, never one while another is.
const OUTPUT = new Output();

const ENGINES: Readonly<Record<MergeEscaping, Liquid>> = {
  html: createEngine('html', OUTPUT),
  none: createEngine('none', OUTPUT),
  header: createEngine('header', OUTPUT),
};

/** Filters and tags that a template may hold, but for the parts of a tag itself (`else`, `endif`). */
export const authorsNames = (): Readonly<Record<'filters' | 'tags', readonly string[]>> => ({
  filters: Object.keys(ENGINES.html.filters).filter((name) => name !== LINK_FILTER && name !== STYLE_FILTER),
  tags: Object.keys(ENGINES.html.tags),
});

interface EngineTemplate {
  readonly variables: readonly string[];
  readonly render: (values: object) => string;
  /** Fills in the values of a mail whose reader is not known. */
  readonly tryOut: (values: object) => PartTrial;
}

/** Compiles a template with logic; throws the engine's own errors. */
export function compileWithEngine(pieces: readonly TemplatePiece[], escaping: MergeEscaping): EngineTemplate {
  const engine = ENGINES[escaping];
  if (pieces.some(({ kind, source }) => kind !== 'text' && BY_ZERO.test(source)))
    throw new Error('divided by 0');
  const parsed = new TrialParser(engine).parse(
    escaping === 'html' ? guardLinks(pieces) : pieces.map(({ source }) => source).join(''),
  );
  const segments = engine.globalVariableSegmentsSync(parsed);
  return {
    variables: [...new Set(segments.map(dottedName))],
    render: (values) => {
      OUTPUT.clear();
      return String(engine.renderSync(parsed, new Values(values, engine)));
    },
    tryOut: (values) => {
      OUTPUT.clear();
      return tryOut(engine, parsed, values);
    },
  };
}

function guardLinks(pieces: readonly TemplatePiece[]): string {
  const guarded = linkBeginnings(pieces);
  return pieces
    .map(({ source }, index) => (guarded[index] === true ? withFilter(source, LINK_FILTER) : source))
    .join('');
}

/** `custom.tags` of `custom.tags[0]`; only `custom` of `custom[other]`, which can name any field. */
function dottedName(segments: readonly unknown[]): string {
  const end = segments.findIndex((segment) => typeof segment !== 'string');
  return (end < 0 ? segments : segments.slice(0, end)).join('.');
}
