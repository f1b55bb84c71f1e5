import { type Page, pageOfRows, type PageRequest, type Place } from '#kernel';

/**
 * A row of `select n.total, v.* from (select … as total) n left join (one page) v on true`, which reads a page and its total in
 * one snapshot. A page past the end is one row without an item. One row more than asked for says that there are more.
 */
export type Counted<Item> = { readonly total: number } & (
  | (Item & { readonly place: Place })
  | { readonly [Field in keyof Item | 'place']: null }
);

/** Makes a page of such rows. */
export function countedPage<Item extends object>(
  rows: readonly Counted<Item>[],
  request: Pick<PageRequest, 'size'>,
): Page<Item> {
  const found = rows.flatMap((row) => {
    if (row.place === null) return [];
    const { total: _total, ...item } = row;
    return [item as unknown as Item & { readonly place: Place }];
  });
  return pageOfRows<Item>(found, request, rows[0]?.total ?? 0);
}
