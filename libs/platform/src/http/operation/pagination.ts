import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Cursor, Page, PageRequest, Place } from '#kernel';

type PlaceSchema = z.ZodType<Place[number]>;

const FAULT = 'must be the next of a page of this list with these filters';

/** Kinds of values that lists are sorted by, as cursors hold them. */
export const PLACES = {
  // A year that PostgreSQL knows; microseconds, which a Date has not.
  time: z.iso.datetime({ offset: true }).regex(/^[12]/),
  id: z.guid(),
  number: z.int(),
  text: z.string().max(1_000),
};

/** The cursor for clients, who need not know its content. */
export function writeCursor({ page, totalElements, place }: Cursor): string {
  return Buffer.from(JSON.stringify([page, totalElements, ...place])).toString('base64url');
}

/** Marks the list of a request target by its path and filters. */
function markOf(requestTarget: string): string {
  const { pathname, searchParams } = new URL(requestTarget, 'http://localhost');
  for (const name of ['after', 'page', 'size', 'fields']) searchParams.delete(name);
  searchParams.sort();
  return createHash('sha256')
    .update(`${pathname}?${searchParams.toString()}`)
    .digest('base64url')
    .slice(0, 8);
}

/** The page with the mark of its list at its cursor: another list refuses it, and so does this one with other filters. */
export function markNext<Answer extends { readonly pagination: Pagination }>(
  answer: Answer,
  requestTarget: string,
): Answer {
  const { next } = answer.pagination;
  // The number of an item is good in all lists of them.
  if (next === undefined || next === null || /^\d+$/.test(next)) return answer;
  return { ...answer, pagination: { ...answer.pagination, next: `${next}.${markOf(requestTarget)}` } };
}

/** The cursor without the mark of this list. One of another list keeps its mark, which no schema takes. */
export function unmarkCursor(marked: string, requestTarget: string): string {
  const end = marked.indexOf('.');
  return end !== -1 && marked.slice(end + 1) === markOf(requestTarget) ? marked.slice(0, end) : marked;
}

/** The cursor of a list that is sorted by `place`; null at its beginning. */
export function cursorField(place: readonly PlaceSchema[]): z.ZodType<Cursor | null, string> {
  const content = z.tuple([z.int().min(0), z.int().min(0)], z.unknown());
  return z.string().transform((text, context): Cursor | null => {
    if (text === '') return null;
    const parsed = content.safeParse(jsonOf(text));
    if (parsed.success) {
      const [page, totalElements, ...values] = parsed.data;
      const at = z.tuple([place[0]!, ...place.slice(1)]).safeParse(values);
      if (at.success && writeCursor({ page, totalElements, place: at.data }) === text)
        return { page, totalElements, place: at.data };
    }
    context.addIssue({ code: 'custom', message: FAULT });
    return z.NEVER;
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}

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

const pageNumber = wholeNumber(integer.min(0).max(MAX_PAGE)).optional().meta({
  default: 0,
  description: 'Which page, counted from zero. Far from the beginning `after` is faster.',
});
const size = wholeNumber(integer.min(1))
  .transform((items) => Math.min(items, MAX_SIZE))
  .default(20)
  .meta({ description: 'Items on a page; more than 100 is taken as 100.' });

/** The query of a list: `page` from zero or `after`, `size` clamped to 100, its filters; it is sorted by `place`. */
export function pageQuery<Filters extends z.ZodRawShape>(
  filters: Filters,
  place: readonly z.ZodType<Place[number]>[] = [PLACES.time, PLACES.id],
) {
  const after = cursorField(place).optional().meta({
    description:
      'Walks through the list, instead of `page`: empty for its beginning, then the `next` of the page before, with the same filters. Nothing comes twice or is left out, whatever is added or removed meanwhile; `totalElements` stays as it was at the beginning.',
  });
  return z.object({ page: pageNumber, size, after, ...filters }).superRefine(refuseBoth);
}

/** The query of a list whose items are numbered: `after` is the number of the last that was seen. */
export function numberedPageQuery<Filters extends z.ZodRawShape>(filters: Filters) {
  const after = z
    .preprocess((value) => (value === '' ? '0' : value), wholeNumber(integer.min(0)))
    .optional()
    .meta({
      description:
        'The last `sequence` that was seen, or 0 for the beginning, instead of `page`: those behind it follow in their order.',
    });
  return z.object({ page: pageNumber, size, after, ...filters }).superRefine(refuseBoth);
}

function refuseBoth(query: object, context: z.RefinementCtx): void {
  const isBoth = ['page', 'after'].every((name) => (query as Record<string, unknown>)[name] !== undefined);
  if (!isBoth) return;
  const addIssue = (name: string, other: string) =>
    context.addIssue({ code: 'custom', path: [name], message: `must not be given together with ${other}` });
  addIssue('page', 'after');
  addIssue('after', 'page');
}

/** The position of a page in its list. */
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

/** The answer of a list: its rows, and the page's position. */
export function toPage<Row>(
  { after, page: asked = 0, size: items }: PageRequest,
  { items: rows, totalElements, next }: Page<Row>,
): { data: readonly Row[]; pagination: Pagination } {
  const number = after?.page ?? asked;
  return {
    data: rows,
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

/** The answer of a list whose items are numbered. */
export function toNumberedPage<Row extends { readonly sequence: number }>(
  {
    page = 0,
    size: items,
    after,
  }: { readonly page?: number; readonly size: number; readonly after?: number },
  {
    items: rows,
    totalElements,
    hasNext,
  }: { readonly items: readonly Row[]; readonly totalElements: number; readonly hasNext: boolean },
): { data: readonly Row[]; pagination: Pagination } {
  const last = rows.at(-1);
  return {
    data: rows,
    pagination: {
      page,
      size: items,
      totalElements,
      totalPages: Math.ceil(totalElements / items),
      hasNext,
      hasPrevious: page > 0,
      ...(after !== undefined && { next: hasNext && last !== undefined ? String(last.sequence) : null }),
    },
  };
}

/**
 * The `Link` header (RFC 8288) of a page: its neighbours, with the query as it was sent; a walk by `after` goes forward alone.
 */
export function linkHeader(
  publicUrl: string,
  requestTarget: string,
  { page, hasNext, hasPrevious, next }: Pagination,
): string {
  const target = new URL(requestTarget, publicUrl);
  const links: string[] = [];
  const add = (relation: string, parameter: 'page' | 'after', value: string): void => {
    const query = new URLSearchParams(target.search);
    query.set(parameter, value);
    links.push(`<${publicUrl}${target.pathname}?${query.toString()}>; rel="${relation}"`);
  };
  if (next !== undefined) {
    if (next !== null) add('next', 'after', next);
    return links.join(', ');
  }
  if (hasPrevious) add('prev', 'page', String(page - 1));
  if (hasNext) add('next', 'page', String(page + 1));
  return links.join(', ');
}

/** True for an answer that is a page of a list. */
export function isPage(answer: unknown): answer is { readonly pagination: Pagination } {
  if (typeof answer !== 'object' || answer === null || !('pagination' in answer)) return false;
  const { pagination: found } = answer;
  return typeof found === 'object' && found !== null && 'hasNext' in found;
}
