import { Readable } from 'node:stream';
import type { z } from 'zod';
import { fieldsSelector } from './answer-fields.js';

/** Properties of a JSON object. A list may come in pages, each of which is read when the one before was taken. */
type JsonParts = Readonly<Record<string, unknown>>;

/** Leaves of a property what was asked for; undefined for one that was not. */
type Selector = (name: string, content: unknown) => unknown;

/**
 * The text of an answer of `schema` that may be larger than memory, with the fields that the request's `query` names. Throws
 * DomainValidationError.
 */
export function streamedJson(schema: z.ZodObject, parts: object, query: unknown): Readable {
  const { fields } = query as { readonly fields?: string };
  return Readable.from(written(parts as JsonParts, selectorOf(schema, fields)), { objectMode: false });
}

function selectorOf(schema: z.ZodObject, fields: string | undefined): Selector {
  if (fields === undefined) return (_name, content) => content;
  const select = fieldsSelector(schema, fields);
  return (name, content) => (select(JSON.parse(JSON.stringify({ [name]: content }))) as JsonParts)[name];
}

async function* written(parts: JsonParts, select: Selector): AsyncGenerator<string> {
  let before = '{';
  for (const [name, content] of Object.entries(parts)) {
    if (select(name, []) === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    if (!isPaged(content)) yield JSON.stringify(select(name, content));
    else yield* writtenList(content, (items) => select(name, items));
  }
  yield before === '{' ? '{}' : '}';
}

async function* writtenList(
  pages: AsyncIterable<readonly unknown[]>,
  select: (items: readonly unknown[]) => unknown,
): AsyncGenerator<string> {
  let before = '[';
  for await (const page of pages) {
    yield before + JSON.stringify(select(page)).slice(1, -1);
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

function isPaged(content: unknown): content is AsyncIterable<readonly unknown[]> {
  return typeof content === 'object' && content !== null && Symbol.asyncIterator in content;
}
