import type { z } from 'zod';
import { BLOCK_TYPES, type ContentDocument, contentDocument, SIMPLE_BLOCK_TYPES } from './content-block.js';

export type { ContentBlock, ContentDocument, ContentTheme, SimpleBlock } from './content-block.js';

const ROOT = 'contentJson';
const MAX_LENGTH = 1_000_000;
const MAX_BLOCKS = 200;

type Faults = Record<string, string>;

/**
 * Reads the JSON text of a campaign's content. All faults come at once, keyed by their path
 * (`contentJson.blocks[2].level`); `contentJson` alone when the text is no JSON object.
 */
export function parseContentDocument(
  contentJson: string,
): { document: ContentDocument; errors?: never } | { errors: Faults; document?: never } {
  if (contentJson.length > MAX_LENGTH)
    return { errors: { [ROOT]: `must be at most ${MAX_LENGTH} characters` } };
  let value: unknown;
  try {
    value = JSON.parse(contentJson);
  } catch {
    return { errors: { [ROOT]: 'is not valid JSON' } };
  }
  if (!isRecord(value)) return { errors: { [ROOT]: 'must be an object' } };
  const result = contentDocument.safeParse(value, { error: message, reportInput: true });
  const errors = { ...arrangementFaults(value), ...(result.success ? {} : faultsOf(result.error.issues)) };
  if (result.success && Object.keys(errors).length === 0) return { document: result.data };
  return { errors };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** What no single block can see: how many there are, and that `mjml` stands alone. */
function arrangementFaults(content: Readonly<Record<string, unknown>>): Faults {
  const faults: Faults = {};
  const blocks = listOf(content['blocks']);
  const nested = blocks.filter(isRecord).flatMap((block) => listOf(block['columns']));
  const count = nested
    .filter(isRecord)
    .reduce((sum, column) => sum + listOf(column['blocks']).length, blocks.length);
  if (count > MAX_BLOCKS) faults[`${ROOT}.blocks`] = `must hold at most ${MAX_BLOCKS} blocks`;
  for (const [index, block] of blocks.entries()) {
    if (blocks.length > 1 && isRecord(block) && block['type'] === 'mjml') {
      faults[`${ROOT}.blocks[${index}]`] = 'an mjml block must be the only block';
    }
  }
  return faults;
}

function faultsOf(issues: readonly z.core.$ZodIssue[]): Faults {
  const faults: Faults = {};
  for (const issue of issues) {
    const names =
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    for (const name of names) faults[pathOf(name)] ??= issue.message;
  }
  return faults;
}

const pathOf = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (name, key) => (typeof key === 'number' ? `${name}[${key}]` : `${name}.${String(key)}`),
    ROOT,
  );

function message(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${nameOf(issue.expected)}`;
    case 'too_small':
      return limit('at least', Number(issue.minimum), issue.origin);
    case 'too_big':
      return limit('at most', Number(issue.maximum), issue.origin);
    case 'unrecognized_keys':
      return 'is not a known field';
    case 'invalid_union':
      return unionMessage(issue);
    default:
      return 'is not valid';
  }
}

function unionMessage(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string {
  if (isRecord(issue.input) && issue.input['type'] === undefined) return 'is required';
  const depth = listOf(issue.path).filter((key) => key === 'blocks').length;
  return `must be one of ${(depth > 1 ? SIMPLE_BLOCK_TYPES : BLOCK_TYPES).join(', ')}`;
}

function nameOf(type: string): string {
  if (type === 'int') return 'an integer';
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}

function limit(bound: string, value: number, origin: string): string {
  if (origin === 'string')
    return value === 1 && bound === 'at least' ? 'is required' : `must be ${bound} ${value} characters`;
  if (origin === 'array') return `must hold ${bound} ${value} entries`;
  return `must be ${bound} ${value}`;
}
