/** The values that a row is sorted by in its list; no other row has them. */
export type Place = readonly (string | number | null)[];

/** The position of a walk through a list. */
export interface Cursor {
  /** Number of the page that begins here. */
  readonly page: number;
  /** Counted once, where the walk began. */
  readonly totalElements: number;
  /** Place of the last row that was seen. */
  readonly place: Place;
}

/** The wanted part of a list: `page` from zero, `size` 1–100; `after` instead of `page` goes on behind a row, null begins. */
export interface PageRequest {
  readonly page?: number | undefined;
  readonly size: number;
  readonly after?: Cursor | null | undefined;
}

/** One page of a list and the length of the whole list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly totalElements: number;
  /** Place of the last item, when there are more behind it. */
  readonly next: Place | null;
}

/** Rows to skip before the page. */
export function offsetOf({ page = 0, size, after }: PageRequest): number {
  return after ? 0 : page * size;
}

/** A page of `rows`, which are one more than asked for when there are more behind it. */
export function pageOfRows<Item>(
  rows: readonly (Item & { readonly place: Place })[],
  { size }: Pick<PageRequest, 'size'>,
  totalElements: number,
): Page<Item> {
  const items = rows.slice(0, size).map(({ place: _place, ...item }) => item as Item);
  return { items, totalElements, next: rows.length > size ? (rows[size - 1]?.place ?? null) : null };
}
