/** What a row is sorted by in its list: values that no other row has. */
export type Place = readonly (string | number | null)[];

/** Where a walk through a list has come to. */
export interface Cursor {
  /** Of the page that begins here; the one that the walk began with is 0, unless it was another. */
  readonly page: number;
  /** As it was where the walk began, so that it is counted once. */
  readonly totalElements: number;
  /** Of the last row that was seen. */
  readonly place: Place;
}

/** Which part of a list is asked for: `page` counts from zero, `size` is 1–100; `after` instead of `page` goes on behind a row, null begins. */
export interface PageRequest {
  readonly page?: number | undefined;
  readonly size: number;
  readonly after?: Cursor | null | undefined;
}

/** One page of a list and how long the whole list is. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly totalElements: number;
  /** Of the last item, when there are more behind it. */
  readonly next: Place | null;
}

/** Rows before the page that are skipped by counting them. */
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
