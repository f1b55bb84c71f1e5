import { z } from 'zod';
import type { Page, PageRequest } from '#kernel';

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

/** The query of every list: `page` from zero, `size` clamped to 100. Extend it with the list's filters. */
export const pageQuery = z.object({
  page: wholeNumber(integer.min(0).max(MAX_PAGE))
    .default(0)
    .meta({ description: 'Which page, counted from zero.' }),
  size: wholeNumber(integer.min(1))
    .transform((size) => Math.min(size, MAX_SIZE))
    .default(20)
    .meta({ description: 'Items on a page; more than 100 is taken as 100.' }),
});

/** Where a page stands in its list. */
export const pagination = z
  .object({
    page: z.int(),
    size: z.int(),
    totalElements: z.int().meta({ format: 'int64' }),
    totalPages: z.int(),
    hasNext: z.boolean(),
    hasPrevious: z.boolean(),
  })
  .meta({ id: 'Pagination' });

export type Pagination = z.output<typeof pagination>;

/** The schema of a list's answer; `id` names it in the OpenAPI document, e.g. `TopicPage`. */
export function pageOf<Item extends z.ZodType>(item: Item, id: string) {
  return z.object({ data: z.array(item), pagination }).meta({ id });
}

/** The answer of a list: each row as its view, and where the page stands. */
export function toPage<Row, View>(
  query: PageRequest,
  page: Page<Row>,
  toView: (row: Row) => View,
): { data: View[]; pagination: Pagination } {
  const totalPages = Math.ceil(page.totalElements / query.size);
  return {
    data: page.items.map((row) => toView(row)),
    pagination: {
      page: query.page,
      size: query.size,
      totalElements: page.totalElements,
      totalPages,
      hasNext: query.page + 1 < totalPages,
      hasPrevious: query.page > 0,
    },
  };
}
