import { z } from 'zod';
import type { Page, PageRequest, Place } from '#kernel';
import { cursorField, PLACES, writeCursor } from './cursor.js';

const MAX_SIZE = 100;
const MAX_PAGE = 2_147_483_647;

/** Digits become a number, however many they are; anything else stays text and is refused by the schema behind. */
function wholeNumber<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^-?\d+$/.test(value) ? safeInteger(value) : value),
    schema,
  );
}

function safeInteger(digits: string): number {
  return Math.min(Math.max(Number(digits), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

/** Also of text, which says `must be a number` by itself. */
const integer = z.int({
  error: ({ code }) => (code === 'invalid_type' ? 'must be an integer' : undefined),
});

const page = wholeNumber(integer.min(0).max(MAX_PAGE)).optional().meta({
  default: 0,
  description: 'Which page, counted from zero. Far from the beginning `after` is faster.',
});
const size = wholeNumber(integer.min(1))
  .transform((items) => Math.min(items, MAX_SIZE))
  .default(20)
  .meta({ description: 'Items on a page; more than 100 is taken as 100.' });

/** The query of every list: `page` from zero or `after`, `size` clamped to 100, and the list's filters. `place` is what it is sorted by. */
export function pageQuery<Filters extends z.ZodRawShape>(
  filters: Filters,
  place: readonly z.ZodType<Place[number]>[] = [PLACES.time, PLACES.id],
) {
  const after = cursorField(place).optional().meta({
    description:
      'Walks through the list, instead of `page`: empty for its beginning, then the `next` of the page before, with the same filters. Nothing comes twice or is left out, whatever is added or removed meanwhile; `totalElements` stays as it was at the beginning.',
  });
  return z.object({ page, size, after, ...filters }).superRefine((query: object, context) => {
    const isBoth = ['page', 'after'].every((name) => (query as Record<string, unknown>)[name] !== undefined);
    if (!isBoth) return;
    for (const name of ['page', 'after'])
      context.addIssue({
        code: 'custom',
        path: [name],
        message: 'must not be given with the other one of page and after',
      });
  });
}

/** Where a page stands in its list. */
export const pagination = z
  .object({
    page: z.int(),
    size: z.int(),
    totalElements: z.int().meta({ format: 'int64' }),
    totalPages: z.int(),
    hasNext: z.boolean(),
    hasPrevious: z.boolean(),
    next: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'Only with `after`: where the next page begins, for `after`; null at the end.' }),
  })
  .meta({ id: 'Pagination' });

export type Pagination = z.output<typeof pagination>;

/** The schema of a list's answer; `id` names it in the OpenAPI document, e.g. `TopicPage`. */
export function pageOf<Item extends z.ZodType>(item: Item, id: string) {
  return z.object({ data: z.array(item), pagination }).meta({ id });
}

/** The answer of a list: each row as its view, and where the page stands. */
export function toPage<Row, View>(
  { after, page: asked = 0, size: items }: PageRequest,
  { items: rows, totalElements, next }: Page<Row>,
  toView: (row: Row) => View,
): { data: View[]; pagination: Pagination } {
  const number = after?.page ?? asked;
  return {
    data: rows.map((row) => toView(row)),
    pagination: {
      page: number,
      size: items,
      totalElements,
      totalPages: Math.ceil(totalElements / items),
      hasNext: next !== null,
      hasPrevious: number > 0,
      ...(after !== undefined && {
        next: next === null ? null : writeCursor({ page: number + 1, totalElements, place: next }),
      }),
    },
  };
}
