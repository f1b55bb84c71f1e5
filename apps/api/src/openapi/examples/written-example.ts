import type { Pagination } from '#platform/http';

/** A request and its answer as the reference shows them, by `operationId`; without a JSON body there is none here. */
export type WrittenExamples = Readonly<Record<string, { readonly body?: object; readonly answer?: object }>>;

interface ExamplePage<Row> {
  data: Row[];
  pagination: Pagination;
}

/** A list that is shown whole. */
export function onePage<Row>(...rows: readonly Row[]): ExamplePage<Row> {
  return pageOf(rows, 20, rows.length);
}

/** The beginning of a list with `total` rows. */
export function firstPage<Row>(total: number, ...rows: readonly Row[]): ExamplePage<Row> {
  return pageOf(rows, rows.length, total);
}

function pageOf<Row>(rows: readonly Row[], size: number, totalElements: number): ExamplePage<Row> {
  const totalPages = Math.ceil(totalElements / size);
  const pagination = {
    page: 0,
    size,
    totalElements,
    totalPages,
    hasNext: totalPages > 1,
    hasPrevious: false,
  };
  return { data: [...rows], pagination };
}
