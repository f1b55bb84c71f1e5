import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { offsetOf, type Page, pageOfRows, type PageRequest, type Place, type ProjectScope } from '#kernel';
import type { Database } from './database.js';

type ColumnType = 'bigint' | 'text' | 'timestamptz' | 'uuid';

/** Order of a list by columns that are unique together: an index of its filters and these finds a page behind any row at once. */
export class ListOrder {
  constructor(
    private readonly columns: readonly (readonly [column: string, type: ColumnType])[],
    private readonly direction: 'asc' | 'desc' = 'desc',
  ) {}

  /** Behind `order by`. */
  get by(): RawBuilder<unknown> {
    return sql.join(this.#names.map((name) => sql`${name} ${sql.raw(this.direction)}`));
  }

  /** The column `place` of a row. */
  get place(): RawBuilder<Place> {
    return sql<Place>`json_build_array(${sql.join(this.#names)})`;
  }

  /** Condition: the row is behind the cursor; all are without one. */
  isBehind({ after }: PageRequest): RawBuilder<boolean> {
    if (!after) return sql<boolean>`true`;
    const values = this.columns.map(([, type], index) => sql`${after.place[index]}::${sql.raw(type)}`);
    const sign = sql.raw(this.direction === 'asc' ? '>' : '<');
    return sql<boolean>`(${sql.join(this.#names)}) ${sign} (${sql.join(values)})`;
  }

  /** A page of `rows`; `all`, the same rows without columns, are counted. */
  async page<DB, TB extends keyof DB, Row>(
    rows: SelectQueryBuilder<DB, TB, Row>,
    all: SelectQueryBuilder<DB, TB, object>,
    request: PageRequest,
  ): Promise<Page<Row>> {
    const found = await this.rows(rows, request);
    return pageOfRows<Row>(found, request, request.after?.totalElements ?? (await countOf(all)));
  }

  /** Rows of a page, and one more when there are more. */
  rows<DB, TB extends keyof DB, Row>(rows: SelectQueryBuilder<DB, TB, Row>, request: PageRequest) {
    const page = rows
      .select(this.place.as('place'))
      .where(this.isBehind(request))
      .orderBy(this.by)
      .limit(request.size + 1)
      .offset(offsetOf(request));
    return page.execute() as unknown as Promise<(Row & { readonly place: Place })[]>;
  }

  get #names(): RawBuilder<unknown>[] {
    return this.columns.map(([column]) => sql.ref(column));
  }
}

/**
 * All rows of a list, `size` at a time. Each page is read in a transaction of its own, so that whoever takes them slowly holds no
 * connection; rows that are added behind the place that was reached are among them.
 */
export async function* pagesOf<Row extends object>(
  database: Database,
  scope: ProjectScope,
  { rows, order, size }: { readonly rows: RawBuilder<Row>; readonly order: ListOrder; readonly size: number },
): AsyncGenerator<readonly Row[]> {
  for (let place: Place | null = null, last = size; last === size;) {
    const after = place === null ? null : { page: 0, totalElements: 0, place };
    const page = sql<Row & { readonly place: Place }>`
      select l.*, ${order.place} as place from (${rows}) l
      where ${order.isBehind({ size, after })} order by ${order.by} limit ${size}
    `;
    const found: readonly (Row & { readonly place: Place })[] = await database.read(
      scope,
      { isList: true },
      async () => (await page.execute(database.tables())).rows,
    );
    if (found.length > 0) yield found.map(({ place: _place, ...row }) => row as unknown as Row);
    last = found.length;
    place = found.at(-1)?.place ?? null;
  }
}

/** Rows of all pages, in memory. */
export async function rowsOf<Row>(pages: AsyncIterable<readonly Row[]>): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for await (const page of pages) rows.push(...page);
  return rows;
}

/** Number of rows. */
export async function countOf<DB, TB extends keyof DB>(
  rows: SelectQueryBuilder<DB, TB, object>,
): Promise<number> {
  const counted = await rows.select(sql<number>`count(*)`.as('total')).executeTakeFirstOrThrow();
  return (counted as { readonly total: number }).total;
}

/** One row more than the page has, which says whether there are more. */
export function limitOf(request: PageRequest): RawBuilder<unknown> {
  return sql`limit ${request.size + 1} offset ${offsetOf(request)}`;
}

/** Length of a list: counted where a walk begins, and known behind that. */
export function totalOf({ after }: PageRequest, count: RawBuilder<number>): RawBuilder<number> {
  return after ? sql<number>`${after.totalElements}::bigint` : count;
}

/** Order of most lists. */
export const NEWEST_FIRST = new ListOrder([
  ['created_at', 'timestamptz'],
  ['id', 'uuid'],
]);
