import { linkBeginnings } from './link-context.js';
import { linkValue, type MergeEscaping, orDefault, OUTPUT_ESCAPES, SHARED_FILTERS } from './merge-output.js';
import { type TemplatePiece } from './merge-tags.js';
import type { MergeValues } from './merge-values.js';

type Step = (value: unknown) => unknown;

interface Slot {
  readonly root: keyof MergeValues;
  readonly key: string;
  readonly steps: readonly Step[];
}

/** A template of plain tags only: fixed texts with one slot between each two of them. */
export interface SlotTemplate {
  readonly variables: readonly string[];
  /** The fixed texts; one more than there are slots. */
  readonly texts: readonly string[];
  /** The slots' contents in their order, escaped. */
  fill(values: MergeValues): string[];
  render(values: MergeValues): string;
}

const ROOTS: readonly (keyof MergeValues)[] = [
  'subscriber',
  'custom',
  'topic',
  'campaign',
  'project',
  'links',
  'tracking',
];

const PLAIN = /^\{\{\s*([a-z]+)\.([A-Za-z_][\w-]*)\s*((?:\|[^|]*)*)\}\}$/;
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
  const [, root, key, filters] = PLAIN.exec(source) ?? [];
  const known = ROOTS.find((name) => name === root);
  if (known === undefined || key === undefined || COMPUTED.has(key)) return null;
  const steps = (filters ?? '').split('|').slice(1).map(compileFilter);
  if (steps.includes(null)) return null;
  return { root: known, key, steps: steps.filter((step) => step !== null) };
}

function slotValue(slot: Slot, values: MergeValues): unknown {
  const fields: object = values[slot.root] ?? {};
  let value: unknown = Object.hasOwn(fields, slot.key) ? Reflect.get(fields, slot.key) : undefined;
  for (const step of slot.steps) value = step(value);
  return value;
}

/** Compiles a template that holds only plain tags; null when it needs Liquid's engine. */
export function compileSlots(pieces: readonly TemplatePiece[], escaping: MergeEscaping): SlotTemplate | null {
  const texts: string[] = [''];
  const slots: Slot[] = [];
  const guarded = escaping === 'html' ? linkBeginnings(pieces) : [];
  for (const [index, piece] of pieces.entries()) {
    if (piece.kind === 'tag') return null;
    if (piece.kind === 'text') {
      texts[texts.length - 1] += piece.source;
      continue;
    }
    const slot = compileSlot(piece.source);
    if (slot === null) return null;
    slots.push(guarded[index] === true ? { ...slot, steps: [...slot.steps, linkValue] } : slot);
    texts.push('');
  }
  const escape = OUTPUT_ESCAPES[escaping];
  const fill = (values: MergeValues) => slots.map((slot) => escape(slotValue(slot, values)));
  return {
    variables: [...new Set(slots.map((slot) => `${slot.root}.${slot.key}`))],
    texts,
    fill,
    render(values) {
      let result = texts[0] ?? '';
      for (const [index, content] of fill(values).entries()) result += content + texts[index + 1];
      return result;
    },
  };
}
