import { compileWithEngine } from './merge-engine.js';
import { linkValue, type MergeEscaping, orDefault, OUTPUT_ESCAPES, SHARED_FILTERS } from './merge-output.js';
import { asMergeTemplateError, type TemplatePiece, templatePieces } from './merge-tags.js';
import { type MergeValues, SAMPLE_VALUES } from './merge-values.js';
import { linkBeginnings } from './merge-links.js';

/** A subject, HTML or text part that is filled in once per recipient. */
export interface MergeTemplate {
  /** Dotted names of the values it uses; its own loop variables and assigns are not among them. */
  readonly variables: readonly string[];
  /**
   * Fills in the values; they are never parsed as template.
   * @throws {MergeTemplateError} when a loop or a filter exceeds its bounds
   */
  render(values: MergeValues): string;
  /** Present when the template holds only plain tags. */
  readonly slots?: {
    /** The fixed texts; one more than there are slots. */
    readonly texts: readonly string[];
    /** The slots' contents in their order, escaped. */
    fill(values: MergeValues): string[];
    /** The same as they are, before they become text; undefined or null where there is nothing. */
    values(values: MergeValues): unknown[];
  };
}

/**
 * Compiles a Liquid template. Plain tags (`{{ subscriber.first_name | default: "there" }}`) become a slot list;
 * anything else is parsed by Liquid, with own properties only and bounds on parsing, loops and memory.
 * In HTML an output tag that begins a link becomes `#` unless its value is an http, https, mailto, tel, sms or whatsapp URL.
 * @param escaping `html` escapes values for HTML, `header` removes control characters, `none` does nothing
 * @throws {MergeTemplateError} with the line of the fault, when the template cannot be parsed
 */
export function compileMergeTemplate(source: string, escaping: MergeEscaping): MergeTemplate {
  const pieces = templatePieces(source);
  return (
    compileSlots(pieces, escaping) ??
    guarded(() => {
      const { variables, render } = compileWithEngine(pieces, escaping);
      return { variables, render: (values) => guarded(() => render(values)) };
    })
  );
}

/** The template where it holds only plain tags; null where it takes Liquid. */
export const compilePlainTemplate = (source: string, escaping: MergeEscaping): MergeTemplate | null =>
  compileSlots(templatePieces(source), escaping);

function guarded<Result>(task: () => Result): Result {
  try {
    return task();
  } catch (error) {
    throw asMergeTemplateError(error);
  }
}

type Step = (value: unknown) => unknown;

interface Slot {
  readonly root: keyof MergeValues;
  readonly path: readonly string[];
  readonly steps: readonly Step[];
}

const ROOTS: ReadonlySet<string> = new Set([...Object.keys(SAMPLE_VALUES), 'event', 'data', 'tracking']);
const PLAIN = /^\{\{\s*([a-z]+)((?:\.[A-Za-z_][\w-]*)+)\s*((?:\|[^|]*)*)\}\}$/;
const FILTER = /^\s*([a-z_]+)\s*(?::\s*("[^"\\{}]*"|'[^'\\{}]*'|-?\d{1,15}(?:\.\d{1,6})?)\s*)?$/;
// Liquid reads these from the collection itself, not from a field of that name.
const COMPUTED = new Set(['size', 'first', 'last']);

function compileFilter(source: string): Step | null {
  const match = FILTER.exec(source);
  const name = match?.[1];
  if (name === undefined) return null;
  const literal = match?.[2];
  if (name === 'default') {
    if (literal === undefined) return null;
    const fallback = /^["']/.test(literal) ? literal.slice(1, -1) : Number(literal);
    return (value) => orDefault(value, fallback);
  }
  if (literal !== undefined || !Object.hasOwn(SHARED_FILTERS, name)) return null;
  return SHARED_FILTERS[name] ?? null;
}

function compileSlot(source: string): Slot | null {
  const [, root, dotted, filters] = PLAIN.exec(source) ?? [];
  if (root === undefined || dotted === undefined || !ROOTS.has(root)) return null;
  const path = dotted.slice(1).split('.');
  if (path.some((name) => COMPUTED.has(name))) return null;
  const steps = (filters ?? '').split('|').slice(1).map(compileFilter);
  if (steps.includes(null)) return null;
  return { root: root as keyof MergeValues, path, steps: steps.filter((step) => step !== null) };
}

function slotValue(slot: Slot, values: MergeValues): unknown {
  let value: unknown = values[slot.root];
  for (const name of slot.path) value = ownMember(value, name);
  for (const step of slot.steps) value = step(value);
  return value;
}

/** As Liquid reads it with own properties only. */
function ownMember(value: unknown, name: string): unknown {
  if (value === undefined || value === null || !Object.hasOwn(value, name)) return undefined;
  return Reflect.get(Object(value) as object, name);
}

/** Compiles plain tags to slots; null when anything else is among the pieces. */
function compileSlots(pieces: readonly TemplatePiece[], escaping: MergeEscaping): MergeTemplate | null {
  const texts: string[] = [''];
  const slots: Slot[] = [];
  const beginsLink = escaping === 'html' ? linkBeginnings(pieces) : [];
  for (const [index, piece] of pieces.entries()) {
    if (piece.kind === 'tag') return null;
    if (piece.kind === 'text') {
      texts[texts.length - 1] += piece.source;
      continue;
    }
    const slot = compileSlot(piece.source);
    if (slot === null) return null;
    slots.push(beginsLink[index] === true ? { ...slot, steps: [...slot.steps, linkValue] } : slot);
    texts.push('');
  }
  const escape = OUTPUT_ESCAPES[escaping];
  const valuesOf = (values: MergeValues) => slots.map((slot) => slotValue(slot, values));
  const fill = (values: MergeValues) => valuesOf(values).map(escape);
  return {
    variables: [...new Set(slots.map(({ root, path }) => [root, ...path].join('.')))],
    slots: { texts, fill, values: valuesOf },
    render(values) {
      let result = texts[0] ?? '';
      for (const [index, content] of fill(values).entries()) result += content + texts[index + 1];
      return result;
    },
  };
}
