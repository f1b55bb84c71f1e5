import type { Page } from '#kernel';

/**
 * A row of `select n.total, v.* from (select count(*) as total …) n left join (one page) v on true`, which reads a page and
 * its total in one snapshot. A page past the end is one row without an item.
 */
export type Counted<Item> = { readonly total: number } & (Item | { readonly [Field in keyof Item]: null });

/** Makes a page of such rows; `itemOf` converts a row to an item, or to null when the row has none. */
export function countedPage<Row extends { readonly total: number }, Item>(
  rows: readonly Row[],
  itemOf: (row: Row) => Item | null,
): Page<Item> {
  return {
    items: rows.map((row) => itemOf(row)).filter((item) => item !== null),
    totalElements: rows[0]?.total ?? 0,
  };
}
