import type { Schemas } from './operations.js';

/** One page of a list. */
export interface PageOf<Element> {
  readonly data: readonly Element[];
  readonly pagination: Schemas['Pagination'];
}

/** The page of a list: its number, from 0, or the `pagination.next` of the page before ('' at the beginning). */
export type PagePlace = number | string;

/**
 * A list: `for await` goes through all of it, and whatever is added or removed meanwhile, nothing comes twice or is left out;
 * `page(n)` gets one page.
 */
export class List<Element> implements AsyncIterable<Element> {
  readonly #fetchPage: (place: PagePlace) => Promise<PageOf<Element>>;

  constructor(fetchPage: (place: PagePlace) => Promise<PageOf<Element>>) {
    this.#fetchPage = fetchPage;
  }

  page(place: PagePlace = 0): Promise<PageOf<Element>> {
    return this.#fetchPage(place);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Element, void, void> {
    for (let place: string | null = ''; place !== null;) {
      const { data, pagination }: PageOf<Element> = await this.#fetchPage(place);
      yield* data;
      place = pagination.next ?? null;
    }
  }

  /** All of it, in memory. */
  async all(): Promise<Element[]> {
    const elements: Element[] = [];
    for await (const element of this) elements.push(element);
    return elements;
  }
}
