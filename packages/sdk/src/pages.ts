import type { Schemas } from './operations.js';

/** One page of a list. */
export interface PageOf<Element> {
  readonly data: readonly Element[];
  readonly pagination: Schemas['Pagination'];
}

/** A list: `for await` goes through all of it, page by page; `page(n)` gets one. */
export class List<Element> implements AsyncIterable<Element> {
  readonly #fetchPage: (page: number) => Promise<PageOf<Element>>;

  constructor(fetchPage: (page: number) => Promise<PageOf<Element>>) {
    this.#fetchPage = fetchPage;
  }

  /** The first page is 0. */
  page(page = 0): Promise<PageOf<Element>> {
    return this.#fetchPage(page);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Element, void, void> {
    for (let page = 0; ; page += 1) {
      const { data, pagination } = await this.#fetchPage(page);
      yield* data;
      if (!pagination.hasNext) return;
    }
  }

  /** All of it, in memory. */
  async all(): Promise<Element[]> {
    const elements: Element[] = [];
    for await (const element of this) elements.push(element);
    return elements;
  }
}
